"""GLPI's own webhooks, for installations that cannot use the plugin."""
