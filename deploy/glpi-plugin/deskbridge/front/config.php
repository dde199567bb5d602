<?php

declare(strict_types=1);

use GlpiPlugin\Deskbridge\Page;

Session::checkRight('config', UPDATE);

if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    Page::act($_POST);
    Html::back();
}

Html::header('deskbridge', '', 'config', 'plugin');
Page::show();
Html::footer();
