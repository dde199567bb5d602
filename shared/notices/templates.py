"""Codes of faults in a payload template, and of warnings about its result."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message, Plural


class TemplateProblem(Code, article="KB-TEMPLATE-001"):
    """A fault in a template, or data that does not fit it; never contains text of a ticket."""

    # the template as a whole
    TEMPLATE_NO_TEXT = Message("template_no_text", "a template must be a text")
    TEMPLATE_TOO_LARGE = Message("template_too_large", "the template is larger than {most} KiB")
    TOP_KEY_MISSING = Message("top_key_missing", 'the template must be an object that contains "{name}"')
    TOP_KEY_NO_OBJECT = Message("top_key_no_object", '"{name}" must be an object')
    NOT_COMPILED_AT_ALL = Message("not_compiled_at_all", "the template could not be compiled ({error})")
    NOT_RENDERED_AT_ALL = Message("not_rendered_at_all", "the template could not be rendered ({error})")

    # its JSON
    JSON_SYNTAX_WRONG = Message("json_syntax_wrong", "not JSON: expected {wanted}")
    TAG_NOT_QUOTED = Message("tag_not_quoted", "put quotes around this tag, as in {example}")
    TAG_OUTSIDE_TEXT = Message("tag_outside_text", "a tag is only allowed in a quoted value")
    TEXT_ENDS_IN_TAG = Message(
        "text_ends_in_tag", "the text ends inside a tag: use single quotes for texts in a tag"
    )
    TEXT_NOT_CLOSED = Message("text_not_closed", "this text is not closed")
    TAG_IN_NAME = Message("tag_in_name", "a tag is only allowed in a value, not in a name")
    CONTROL_IN_NAME = Message("control_in_name", "a name must not contain control characters")
    CONTROL_IN_TEXT = Message(
        "control_in_text", "the text contains a line break or control character: write \\n, \\t, …"
    )
    NAME_STANDS_TWICE = Message("name_stands_twice", "this name occurs twice in the same object")
    NESTED_DEEPER = Message("nested_deeper", "nested more than {most} levels deep")
    NUMBER_BEYOND_RANGE = Message("number_beyond_range", "this number is out of range")
    WORD_NOT_JSON = Message("word_not_json", "{word} is not JSON")
    HALF_A_CHARACTER = Message("half_a_character", "this text contains half a character (a lone surrogate)")
    BRACES_NOT_ESCAPED = Message(
        "braces_not_escaped", "to write {braces} literally, put two backslashes before it, as in {example}"
    )
    ESCAPE_NOT_KNOWN = Message("escape_not_known", "not JSON: unknown escape; write \\\\ for a backslash")
    HEX_DIGITS_NEEDED = Message("hex_digits_needed", "not JSON: \\u needs four hexadecimal digits")

    # its tags
    TAG_NOT_CLOSED = Message("tag_not_closed", "this tag is not closed: add {end}")
    TAG_SYNTAX_WRONG = Message("tag_syntax_wrong", "expected {wanted}")
    TAG_IS_EMPTY = Message("tag_is_empty", "this tag is empty")
    TAG_WITHIN_TAG = Message("tag_within_tag", "a tag inside a tag: close the first one with {end}")
    TRIPLE_NOT_CLOSED = Message("triple_not_closed", "close a tag that starts with {start} with {end}")
    TRIPLE_BEFORE_SIGN = Message(
        "triple_before_sign", "{braces} is not allowed before {sign}: write {example}"
    )
    FOUR_BRACES = Message(
        "four_braces",
        "four braces are not allowed: write {example} for a literal {braces} (in JSON {in_json})",
    )
    COMMENT_NOT_CLOSED = Message(
        "comment_not_closed", "this comment is not closed: it starts with {start} and ends with {end}"
    )
    TAGS_TOO_MANY = Message("tags_too_many", "more than {most} tags")
    FILTERS_TOO_MANY = Message("filters_too_many", "more than {most} filters in one tag")
    BLOCKS_TOO_DEEP = Message("blocks_too_deep", "blocks nested more than {most} deep")
    PARENTHESES_TOO_DEEP = Message("parentheses_too_deep", "parentheses nested more than {most} deep")
    BLOCK_NOT_CLOSED = Message("block_not_closed", "{start} is not closed: add {end}")
    BLOCK_NOT_OPENED = Message("block_not_opened", "this closes a block that was not opened")
    BLOCK_NOT_KNOWN = Message("block_not_known", "unknown block (valid: #if, #unless and #each)")
    ELSE_OUTSIDE_BLOCK = Message("else_outside_block", "{tag} is outside a block")
    ELSE_STANDS_TWICE = Message("else_stands_twice", "a block can contain only one {tag}")
    ELSE_IF_WRITTEN = Message(
        "else_if_written", "{written} is not allowed: put an {inner} between {start} and {end}"
    )

    # constructs of other template languages
    NO_PARTIALS_HERE = Message("no_partials_here", "partials are not supported")
    NOTHING_IS_ESCAPED = Message("nothing_is_escaped", "values are never escaped: write {example} without &")
    NO_INVERSE_HERE = Message("no_inverse_here", "write {one} or {other}")
    NO_BLANK_CONTROL = Message("no_blank_control", "~ is not supported: spaces around tags stay as typed")
    NO_OTHER_DELIMITERS = Message("no_other_delimiters", "other delimiters are not supported")
    NO_WITH_HERE = Message("no_with_here", "#with is not supported: write full paths")
    NO_LOOKUP_HERE = Message("no_lookup_here", "lookup is not supported: write a path")
    NO_BRACKETS_HERE = Message(
        "no_brackets_here", "brackets are not supported: write a path such as ticket.title"
    )
    NO_PARENT_PATHS = Message(
        "no_parent_paths",
        "“..” is not supported: write a path of names and single points, as in ticket.title",
    )
    NO_AT_VARIABLES = Message("no_at_variables", "@ variables are not supported")
    NO_NAMED_ARGUMENTS = Message("no_named_arguments", "arguments have no names: write truncate: 200")
    NO_TILDE_HERE = Message("no_tilde_here", "~ is not supported")
    CHARACTER_MEANS_NOTHING = Message("character_means_nothing", "this character is not allowed in a tag")

    # variables and filters
    VARIABLE_NOT_KNOWN = Message("variable_not_known", "unknown variable[; did you mean {nearest}?]")
    VARIABLE_WITHOUT_PARTS = Message(
        "variable_without_parts", "{name} is {kind} and has no field with this name"
    )
    VARIABLE_HOLDS = Message("variable_holds", "{name} is {what}")
    THIS_OUTSIDE_EACH = Message("this_outside_each", "“this” is only allowed inside #each")
    FILTER_NOT_KNOWN = Message("filter_not_known", "unknown filter (valid: {filters})")
    FILTER_NEEDS_VALUE = Message("filter_needs_value", "{name} needs a value: {example}")
    FILTER_FAILS = Message("filter_fails", "{name}: {problem}")
    NO_ARGUMENTS_TAKEN = Message(
        "no_arguments_taken",
        Plural(
            "{name} was given {count} argument; it takes none",
            "{name} was given {count} arguments; it takes none",
        ),
    )
    ARGUMENTS_MISCOUNTED = Message(
        "arguments_miscounted",
        Plural(
            "{name} was given {count} argument; it takes: {takes}",
            "{name} was given {count} arguments; it takes: {takes}",
        ),
    )
    TEXT_IS_NEEDED = Message("text_is_needed", "must be a text, not {got}")
    NUMBER_IS_NEEDED = Message("number_is_needed", "must be a number, not {got}")
    LIST_IS_NEEDED = Message("list_is_needed", "must be a list, not {got}")
    TEXT_OR_NUMBER_NEEDED = Message("text_or_number_needed", "must be a text or a number, not {got}")
    TEXT_IS_NO_NUMBER = Message("text_is_no_number", "must be a number, and this text is not one")
    TEXT_IS_NO_TRUTH = Message("text_is_no_truth", "must be one of true, yes, on, 1, false, no, off, 0")
    NUMBERS_ARE_COMPARED = Message("numbers_are_compared", "both sides must be numbers")
    LENGTH_BELOW_ZERO = Message("length_below_zero", "the length must be 0 or more")
    SOUGHT_TEXT_EMPTY = Message("sought_text_empty", "the text to search for is empty")
    SEPARATOR_IS_EMPTY = Message("separator_is_empty", "the separator is empty")
    DIGITS_OUT_OF_RANGE = Message("digits_out_of_range", "the number of digits must be 0 to 10")
    ROUNDED_TOO_LARGE = Message("rounded_too_large", "this number is too large to round")
    WORD_NOT_OFFERED = Message("word_not_offered", "must be one of {words}")
    DATE_IS_NEEDED = Message("date_is_needed", "must be a date such as 2026-11-21 or 2026-11-21T09:30:00Z")
    DATE_BEYOND_RANGE = Message("date_beyond_range", "this date is out of range")
    DATE_FORMAT_WRONG = Message("date_format_wrong", "a date format consists of {letters: }, as in {example}")
    TIME_ZONE_UNKNOWN = Message("time_zone_unknown", "unknown time zone; use a name such as Europe/Paris")

    # the data for rendering, and the result
    TEXT_TOO_LARGE = Message("text_too_large", "the text is longer than 1 MiB")
    DATA_TOO_DEEP = Message("data_too_deep", "the data is nested more than {most} levels deep")
    DATA_NOT_PLAIN = Message("data_not_plain", "the value cannot be written as JSON")
    NUMBER_NOT_FINITE = Message("number_not_finite", "the number is infinite or not a number")
    INTEGER_TOO_LARGE = Message("integer_too_large", "the integer needs more than 64 bits")
    TEXT_WOULD_GROW = Message("text_would_grow", "the text would become longer than 1 MiB")
    RESULT_TOO_LARGE = Message("result_too_large", "the result is larger than 1 MiB")
    RENDERING_TOO_SLOW = Message("rendering_too_slow", "the template took longer than {seconds} s")
    EACH_NEEDS_LIST = Message("each_needs_list", "#each requires a list, not {got}")
    EACH_TOO_LONG = Message("each_too_long", "#each has more than {most} items")
    FIELD_IS_UNFIT = Message("field_is_unfit", "{field} must be {wanted}, not {got}")
    FIELD_TOO_SMALL = Message("field_too_small", "{field} must be {least:g} or more")
    FIELD_TOO_LARGE = Message("field_too_large", "{field} must be {most:g} or less")
    CUSTOM_FIELDS_UNFIT = Message(
        "custom_fields_unfit", "custom_fields must be a list of objects with id and value"
    )
    ISSUE_IS_ANOTHER = Message("issue_is_another", "issue_id must be the ticket's issue")
    PERSON_IS_ANOTHER = Message("person_is_another", "user_id must be the user of this membership")
    PROJECT_IS_ANOTHER = Message("project_is_another", "project_id must be the issue's project")


class TemplateWarning(Code, article="KB-TEMPLATE-001"):
    """A warning about the payload of a template, which is sent nevertheless."""

    STANDS_BESIDE = Message("stands_beside", "{name} is outside {top}, so it is not sent")
    FIELD_NOT_SENT = Message("field_not_sent", "{field} is missing, and Redmine requires it")
    FIELD_WAS_CUT = Message("field_was_cut", "{field} was shortened to {most} characters")
    PROJECT_NOT_LINKED = Message("project_not_linked", "issue.project_id differs from the mapped project")
    VALUE_IS_ABSENT = Message("value_is_absent", "{name} has no value here")


class JsonType(Code, article="KB-TEMPLATE-001"):
    """The actual or expected type of a value."""

    A_TEXT = Message("a_text", "a text")
    A_NUMBER = Message("a_number", "a number")
    AN_INTEGER = Message("an_integer", "an integer")
    A_BOOLEAN = Message("a_boolean", "a boolean")
    A_LIST = Message("a_list", "a list")
    A_MAP = Message("a_map", "a map")
    AN_OBJECT = Message("an_object", "an object")
    JSON_NULL = Message("json_null", "null")
    TRUE_OR_FALSE = Message("true_or_false", "true or false")
    A_DATE = Message("a_date", "a date such as {example}")


class Expected(Code, article="KB-TEMPLATE-001"):
    """The expected input at the place of a fault."""

    END_OF_TEMPLATE = Message("end_of_template", "the end of the template")
    NAME_IN_QUOTES = Message("name_in_quotes", "a name in double quotes (and no comma before {mark})")
    MARK_AFTER_NAME = Message("mark_after_name", "a {mark} after the name")
    EITHER_MARK = Message("either_mark", "a {one} or {other}")
    VALUE_OF_JSON = Message(
        "value_of_json", "a value: a text in double quotes, a number, true, false, null, an object, a list"
    )
    FILTER_OR_END = Message(
        "filter_or_end", "| or {end} (arguments of a filter follow a colon, as in truncate: 200)"
    )
    NAME_OF_FILTER = Message("name_of_filter", "the name of a filter after |")
    OPERAND_OF_TAG = Message("operand_of_tag", "a variable, a literal or a parenthesis")


class TemplateRefusal(Code, article=WRONG_ASKED):
    """Why a user's action on a template was refused."""

    TEMPLATE_FIELD_NOT_VALID = Message("template_field_not_valid", "{faults:; }")
    TEMPLATE_NOT_ACTIVE = Message("template_not_active", "template {template_id} is not active")
    TEMPLATE_IS_ACTIVE = Message(
        "template_is_active", "template {template_id} is active: deactivate it first"
    )
    TEMPLATE_ACTIVATED_MEANWHILE = Message(
        "template_activated_meanwhile",
        "another template was activated at the same time: try again",
        article="KB-COMMAND-002",
    )
    TEMPLATE_CONFLICT = Message(
        "template_conflict",
        (
            "template {template_id} is now at version {version}, and you edited version {based_on}: check "
            "the changes, and edit the new version"
        ),
        article="KB-COMMAND-002",
    )
    FORM_IS_NO_EVENT = Message(
        "form_is_no_event",
        "{operation} starts from a form: preview it with the sample or your own context",
    )
    NOTHING_LINKED_YET = Message(
        "nothing_linked_yet",
        (
            "there is no mapping yet, so the Redmine project is not known: add one (`deskbridge mapping add`), or "
            "specify an event"
        ),
    )
    EVENT_WITHOUT_TASK = Message(
        "event_without_task", "event {event_id} has no ticket task, so no time is logged for it"
    )
    EVENT_WITHOUT_NOTE = Message(
        "event_without_note", "event {event_id} has no follow-up or solution, so no note is sent for it"
    )
    EVENT_OF_DELETION = Message(
        "event_of_deletion", "event {event_id} is a deletion, so nothing is sent for it"
    )
    EVENT_NOT_LINKED = Message(
        "event_not_linked", "the ticket of event {event_id} has no mapping, so nothing is sent"
    )
    NO_PROJECT_FOR_DRY_RUN = Message(
        "no_project_for_dry_run",
        "the Redmine project is not known: map the project or entity of the ticket, or specify a project",
        article="KB-TEMPLATE-002",
    )
    TEMPORARY_NOT_FILLED = Message(
        "temporary_not_filled",
        (
            "the dry run needs a temporary {kind:word}, but Redmine requires its custom field {name} "
            "({format}), which deskbridge cannot fill: set a default value in Redmine"
        ),
        article="KB-TEMPLATE-002",
    )
    TEMPORARY_REFUSED = Message(
        "temporary_refused",
        (
            "the dry run needs a temporary {kind:word}, but Redmine rejected it: {status}[, {errors:; }][; "
            "{hints:; }]"
        ),
        article="KB-TEMPLATE-002",
    )
