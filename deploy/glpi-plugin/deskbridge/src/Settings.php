<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CommonDBTM;
use Config;
use GLPIKey;
use TicketTask;

/**
 * The plugin's settings, stored in GLPI's configuration; the secrets are encrypted with GLPI's key.
 */
final class Settings
{
    private const CONTEXT = 'plugin:deskbridge';
    private const SHORTEST_SECRET = 16;
    private const DEFAULTS = [
        'address'         => '',
        'secret'          => '',
        'private_tasks'   => '1',
        'notes'           => '0',
        'private_notes'   => '0',
        'documents'       => '0',
        'console_address' => '',
        'console_token'   => '',
    ];

    /** Ends of the addresses that the plugin adds itself, and people copy with them. */
    private const PATHS = ['address' => '~(?<![/:])(/+events)?/*$~D', 'console_address' => '~(?<![/:])(/+console)?/*$~D'];

    /** The address to which each secret is sent. */
    private const SENT_TO = ['secret' => 'address', 'console_token' => 'console_address'];

    /** GLPI encrypts these when it stores them; no page ever shows them. */
    public const SECRETS = ['secret', 'console_token'];

    public function __construct(
        public readonly string $address,
        #[\SensitiveParameter] public readonly string $secret,
        public readonly bool $private_tasks,
        public readonly bool $notes,
        public readonly bool $private_notes,
        public readonly bool $documents,
        public readonly string $console_address,
        #[\SensitiveParameter] public readonly string $console_token,
    ) {
    }

    public static function load(): self
    {
        $stored = array_merge(self::DEFAULTS, Config::getConfigurationValues(self::CONTEXT));
        $key = new GLPIKey();
        return new self(
            $stored['address'],
            (string) $key->decrypt($stored['secret']),
            (bool) $stored['private_tasks'],
            (bool) $stored['notes'],
            (bool) $stored['private_notes'],
            (bool) $stored['documents'],
            $stored['console_address'],
            (string) $key->decrypt($stored['console_token']),
        );
    }

    /**
     * Store a form's values; a secret that is left empty does not change.
     *
     * @param array<string, mixed> $form
     * @return list<string> the form's errors; if there are any, nothing was stored
     */
    public static function save(#[\SensitiveParameter] array $form): array
    {
        $values = array_map(
            static fn ($value): string => trim((string) $value),
            array_intersect_key($form, self::DEFAULTS)
        );
        foreach (self::SECRETS as $name) {
            if (($values[$name] ?? '') === '') {
                unset($values[$name]);
            }
        }
        foreach (array_keys(self::PATHS) as $name) {
            if (isset($values[$name])) {
                $values[$name] = preg_replace(self::PATHS[$name], '', $values[$name]);
            }
        }
        $faults = [...self::faults($values), ...self::load()->missing($values)];
        if ($faults === []) {
            Config::setConfigurationValues(self::CONTEXT, $values);
        }
        return $faults;
    }

    public static function delete(): void
    {
        Config::deleteConfigurationValues(self::CONTEXT, array_keys(self::DEFAULTS));
    }

    /** Whether the text of a task, a follow-up or a solution is sent: it is public, or the private ones are sent too. */
    public function showsText(CommonDBTM $item): bool
    {
        return empty($item->fields['is_private'])
            || ($item instanceof TicketTask ? $this->private_tasks : $this->private_notes);
    }

    /** Whether events can be sent at all. */
    public function isComplete(): bool
    {
        return $this->address !== '' && $this->secret !== '';
    }

    /**
     * A stored secret is sent only to the server that it was entered for; for another server it must be entered again.
     *
     * @param array<string, string> $values the values to store
     * @return list<string> the messages that ask for a secret
     */
    private function missing(#[\SensitiveParameter] array $values): array
    {
        $names = [
            'secret'        => __('The address leads to another server. Enter the secret again.', 'deskbridge'),
            'console_token' => __('The console\'s address leads to another server. Enter the token again.', 'deskbridge'),
        ];
        $missing = [];
        foreach (self::SENT_TO as $secret => $address) {
            $new = $values[$address] ?? '';
            $is_elsewhere = $new !== '' && self::server($new) !== self::server($this->$address);
            if ($is_elsewhere && $this->$secret !== '' && !isset($values[$secret])) {
                $missing[] = $names[$secret];
            }
        }
        return $missing;
    }

    /**
     * @return list<mixed> scheme, host and port of an address
     */
    private static function server(string $address): array
    {
        $parts = parse_url($address) ?: [];
        $scheme = strtolower($parts['scheme'] ?? '');
        return [$scheme, strtolower($parts['host'] ?? ''), $parts['port'] ?? ($scheme === 'https' ? 443 : 80)];
    }

    /**
     * @param array<string, string> $values
     * @return list<string>
     */
    private static function faults(#[\SensitiveParameter] array $values): array
    {
        $faults = [];
        foreach (array_keys(self::PATHS) as $name) {
            if (($values[$name] ?? '') !== '' && !preg_match('~^https?://[^\s/?#@]+(/[^\s?#]*)?$~', $values[$name])) {
                $faults[] = sprintf(
                    __('"%s" is not an address such as https://deskbridge.example.org', 'deskbridge'),
                    $values[$name]
                );
            }
        }
        $secret = $values['secret'] ?? null;
        if ($secret !== null && strlen(Signature::key($secret)) < self::SHORTEST_SECRET) {
            $faults[] = __('The secret must be a line of deskbridge\'s file of signing secrets: whsec_ and base64.', 'deskbridge');
        }
        if (preg_match('/[^\x21-\x7e]/', $values['console_token'] ?? '')) {
            $faults[] = __('The token must not contain spaces or special characters.', 'deskbridge');
        }
        return $faults;
    }
}
