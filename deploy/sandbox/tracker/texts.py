"""Error texts in the languages of the stand-in: English, German, French.

A text is a field's name and a predicate; clients must not match on either.
"""

from __future__ import annotations

LANGUAGES = ("en", "de", "fr")

_FIELDS: dict[str, tuple[str, str, str]] = {
    "subject": ("Subject", "Thema", "Sujet"),
    "project": ("Project", "Projekt", "Projet"),
    "tracker": ("Tracker", "Tracker", "Tracker"),
    "description": ("Description", "Beschreibung", "Description"),
    "status": ("Status", "Status", "Statut"),
    "priority": ("Priority", "Priorität", "Priorité"),
    "category": ("Category", "Kategorie", "Catégorie"),
    "watchers": ("Watchers", "Watchers", "Watchers"),
    "assignee": ("Assignee", "Zugewiesen an", "Assigné à"),
    "hours": ("Hours", "Stunden", "Heures"),
    "activity": ("Activity", "Aktivität", "Activité"),
    "comment": ("Comment", "Kommentar", "Commentaire"),
    "date": ("Date", "Datum", "Date"),
    "start_date": ("Start date", "Beginn", "Début"),
    "due_date": ("Due date", "Abgabedatum", "Echéance"),
    "issue": ("Issue", "Ticket", "Demande"),
    "user": ("User", "Benutzer", "Utilisateur"),
    "name": ("Name", "Name", "Nom"),
    "identifier": ("Identifier", "Kennung", "Identifiant"),
    "parent_task": ("Parent task", "Übergeordnetes Ticket", "Tâche parente"),
    "parent": ("Subproject of", "Unterprojekt von", "Sous-projet de"),
    "principal": ("Principal", "Auftraggeber", "Principal"),
    "member": ("User or Group", "Benutzer oder Gruppe", "User or Group"),
    "role": ("Role", "Rolle", "Rôle"),
    "created": ("Created", "Angelegt", "Créé"),
    "file": ("File", "Datei", "Fichier"),
    "updated": ("Updated", "Aktualisiert", "Mis-à-jour"),
}

_FAULTS: dict[str, tuple[str, str, str]] = {
    "blank": ("cannot be blank", "muss ausgefüllt werden", "doit être renseigné(e)"),
    "empty": ("cannot be empty", "muss ausgefüllt werden", "doit être renseigné(e)"),
    "invalid": ("is invalid", "ist nicht gültig", "n'est pas valide"),
    "inclusion": (
        "is not included in the list",
        "ist kein gültiger Wert",
        "n'est pas inclus(e) dans la liste",
    ),
    "too_long": (
        "is too long (maximum is {limit} characters)",
        "ist zu lang (nicht mehr als {limit} Zeichen)",
        "est trop long (pas plus de {limit} caractères)",
    ),
    "taken": ("has already been taken", "ist bereits vergeben", "est déjà utilisé"),
    "reserved": ("is reserved", "ist nicht verfügbar", "n'est pas disponible"),
    "not_a_date": (
        "is not a valid date",
        "ist kein gültiges Datum",
        "n'est pas une date valide",
    ),
    "not_a_number": ("is not a number", "ist keine Zahl", "n'est pas un nombre"),
    "before_start": (
        "must be greater than start date",
        "muss größer als der Beginn sein",
        "doit être postérieure à la date de début",
    ),
}

_DAY_IS_FULL = (
    "Cannot log more than {limit} hours on the same day ({logged} hours have already been logged)",
    (
        "Es können nicht mehr als {limit} Stunden am selben Tag gebucht werden"
        " ({logged} Stunden wurden bereits gebucht)"
    ),
    "Impossible de saisir plus de {limit} heures pour le même jour ({logged} heures ont déjà été saisies)",
)


_FUTURE_DAY = (
    "Cannot log time on a future date",
    "Zeitbuchung nicht möglich. Das Datum liegt in der Zukunft",
    "Impossible d'enregistrer un temps passé sur une date future",
)

_FILE_TOO_LARGE = (
    "This file cannot be uploaded because it exceeds the maximum allowed file size ({limit})",
    (
        "Diese Datei kann nicht hochgeladen werden, da sie die maximale Dateigröße von ({limit}) überschreitet."
    ),
    "Ce fichier ne peut pas être transféré car il excède la taille maximale autorisée ({limit})",
)
_FILE_REFUSED = (
    "Attachment extension .{ending} is not allowed",
    "Der Dateityp .{ending} des Anhangs ist nicht zugelassen",
    "L'extension .{ending} n'est pas autorisée",
)
_FILES_NOT_SAVED = (
    "{count} file(s) could not be saved.",
    "{count} Datei(en) konnten nicht gespeichert werden.",
    "{count} fichier(s) n'ont pas pu être sauvegardés.",
)

CLOSED_ISSUE = "Cannot log time on a closed issue"


def _column(language: str) -> int:
    return LANGUAGES.index(language) if language in LANGUAGES else 0


def fault(language: str, field: str, kind: str, limit: int = 0) -> str:
    """Return one validation error as a sentence.

    Args:
        language: Two-letter code; an unknown one means English.
        field: A key of the field table, or the name of a custom field, which has no translation.
        kind: A key of the fault table, such as `blank`.
        limit: The maximum in a length fault.
    """
    column = _column(language)
    name = _FIELDS[field][column] if field in _FIELDS else field
    return f"{name} {_FAULTS[kind][column].format(limit=limit)}"


def day_is_full(language: str, limit: float, logged: float) -> str:
    """Return the error for a day on which a user would log more hours than allowed."""
    return _DAY_IS_FULL[_column(language)].format(limit=_clock(limit), logged=_clock(logged))


def future_day(language: str) -> str:
    """Return the error for a future day."""
    return _FUTURE_DAY[_column(language)]


def file_too_large(language: str, kilobytes: int) -> str:
    """Return the error for a file that is larger than allowed."""
    size = f"{kilobytes / 1024:.3g} MB" if kilobytes >= 1024 else f"{kilobytes} KB"
    return _FILE_TOO_LARGE[_column(language)].format(limit=size)


def file_refused(language: str, ending: str) -> str:
    """Return the error for a file whose extension is not allowed."""
    return _FILE_REFUSED[_column(language)].format(ending=ending)


def files_not_saved(language: str, count: int) -> str:
    """Return the error for uploads whose tokens are unknown or were already used."""
    return _FILES_NOT_SAVED[_column(language)].format(count=count)


def preferred(accept_language: str, default: str) -> str:
    """Return the first known language of an Accept-Language header, else the default."""
    for part in accept_language.split(","):
        language = part.split(";")[0].strip().lower()[:2]
        if language in LANGUAGES:
            return language
    return default


def _clock(hours: float) -> str:
    minutes = round(hours * 60)
    return f"{minutes // 60}:{minutes % 60:02d}"
