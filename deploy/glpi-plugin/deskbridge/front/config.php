<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

use GlpiPlugin\Deskbridge\Page;

Session::checkRight('config', UPDATE);

$typed = [];
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    if (Page::act($_POST)) {
        Html::back();
    }
    $typed = $_POST;
}

Html::header('deskbridge', '', 'config', 'plugin');
Page::show($typed);
Html::footer();
