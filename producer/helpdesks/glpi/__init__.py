"""GLPI's own webhooks, for those who may install no plugin."""
