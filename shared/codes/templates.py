"""Codes of what is wrong with a payload template, or worth knowing of what it gave."""

from __future__ import annotations

from shared.codes.notice import Code


class TemplateProblem(Code):
    """What is wrong with a template, or does not fit what it is rendered from; never holds text of a ticket."""

    # the template as a whole
    TEMPLATE_NO_TEXT = "template_no_text"
    TEMPLATE_TOO_LARGE = "template_too_large"
    TOP_KEY_MISSING = "top_key_missing"
    TOP_KEY_NO_OBJECT = "top_key_no_object"
    NOT_COMPILED_AT_ALL = "not_compiled_at_all"
    NOT_RENDERED_AT_ALL = "not_rendered_at_all"

    # its JSON
    JSON_SYNTAX_WRONG = "json_syntax_wrong"
    TAG_NOT_QUOTED = "tag_not_quoted"
    TAG_OUTSIDE_TEXT = "tag_outside_text"
    TEXT_ENDS_IN_TAG = "text_ends_in_tag"
    TEXT_NOT_CLOSED = "text_not_closed"
    TAG_IN_NAME = "tag_in_name"
    CONTROL_IN_NAME = "control_in_name"
    CONTROL_IN_TEXT = "control_in_text"
    NAME_STANDS_TWICE = "name_stands_twice"
    NESTED_DEEPER = "nested_deeper"
    NUMBER_BEYOND_RANGE = "number_beyond_range"
    WORD_NOT_JSON = "word_not_json"
    HALF_A_CHARACTER = "half_a_character"
    BRACES_NOT_ESCAPED = "braces_not_escaped"
    ESCAPE_NOT_KNOWN = "escape_not_known"
    HEX_DIGITS_NEEDED = "hex_digits_needed"

    # its tags
    TAG_NOT_CLOSED = "tag_not_closed"
    TAG_SYNTAX_WRONG = "tag_syntax_wrong"
    TAG_IS_EMPTY = "tag_is_empty"
    TAG_WITHIN_TAG = "tag_within_tag"
    TRIPLE_NOT_CLOSED = "triple_not_closed"
    TRIPLE_BEFORE_SIGN = "triple_before_sign"
    FOUR_BRACES = "four_braces"
    COMMENT_NOT_CLOSED = "comment_not_closed"
    TAGS_TOO_MANY = "tags_too_many"
    FILTERS_TOO_MANY = "filters_too_many"
    BLOCKS_TOO_DEEP = "blocks_too_deep"
    PARENTHESES_TOO_DEEP = "parentheses_too_deep"
    BLOCK_NOT_CLOSED = "block_not_closed"
    BLOCK_NOT_OPENED = "block_not_opened"
    BLOCK_NOT_KNOWN = "block_not_known"
    ELSE_OUTSIDE_BLOCK = "else_outside_block"
    ELSE_STANDS_TWICE = "else_stands_twice"
    ELSE_IF_WRITTEN = "else_if_written"

    # what other languages have
    NO_PARTIALS_HERE = "no_partials_here"
    NOTHING_IS_ESCAPED = "nothing_is_escaped"
    NO_INVERSE_HERE = "no_inverse_here"
    NO_BLANK_CONTROL = "no_blank_control"
    NO_OTHER_DELIMITERS = "no_other_delimiters"
    NO_WITH_HERE = "no_with_here"
    NO_LOOKUP_HERE = "no_lookup_here"
    NO_BRACKETS_HERE = "no_brackets_here"
    NO_PARENT_PATHS = "no_parent_paths"
    NO_AT_VARIABLES = "no_at_variables"
    NO_NAMED_ARGUMENTS = "no_named_arguments"
    NO_TILDE_HERE = "no_tilde_here"
    CHARACTER_MEANS_NOTHING = "character_means_nothing"

    # variables and filters
    VARIABLE_NOT_KNOWN = "variable_not_known"
    VARIABLE_WITHOUT_PARTS = "variable_without_parts"
    VARIABLE_HOLDS = "variable_holds"
    THIS_OUTSIDE_EACH = "this_outside_each"
    FILTER_NOT_KNOWN = "filter_not_known"
    FILTER_NEEDS_VALUE = "filter_needs_value"
    FILTER_FAILS = "filter_fails"
    NO_ARGUMENTS_TAKEN = "no_arguments_taken"
    ARGUMENTS_MISCOUNTED = "arguments_miscounted"
    TEXT_IS_NEEDED = "text_is_needed"
    NUMBER_IS_NEEDED = "number_is_needed"
    LIST_IS_NEEDED = "list_is_needed"
    TEXT_OR_NUMBER_NEEDED = "text_or_number_needed"
    TEXT_IS_NO_NUMBER = "text_is_no_number"
    TEXT_IS_NO_TRUTH = "text_is_no_truth"
    NUMBERS_ARE_COMPARED = "numbers_are_compared"
    LENGTH_BELOW_ZERO = "length_below_zero"
    SOUGHT_TEXT_EMPTY = "sought_text_empty"
    SEPARATOR_IS_EMPTY = "separator_is_empty"
    DIGITS_OUT_OF_RANGE = "digits_out_of_range"
    ROUNDED_TOO_LARGE = "rounded_too_large"
    WORD_NOT_OFFERED = "word_not_offered"
    DATE_IS_NEEDED = "date_is_needed"
    DATE_BEYOND_RANGE = "date_beyond_range"
    DATE_FORMAT_WRONG = "date_format_wrong"
    TIME_ZONE_UNKNOWN = "time_zone_unknown"

    # what it is rendered from, and what comes out
    TEXT_TOO_LARGE = "text_too_large"
    DATA_TOO_DEEP = "data_too_deep"
    DATA_NOT_PLAIN = "data_not_plain"
    NUMBER_NOT_FINITE = "number_not_finite"
    INTEGER_TOO_LARGE = "integer_too_large"
    TEXT_WOULD_GROW = "text_would_grow"
    RESULT_TOO_LARGE = "result_too_large"
    RENDERING_TOO_SLOW = "rendering_too_slow"
    EACH_NEEDS_LIST = "each_needs_list"
    EACH_TOO_LONG = "each_too_long"
    FIELD_IS_UNFIT = "field_is_unfit"
    FIELD_TOO_SMALL = "field_too_small"
    FIELD_TOO_LARGE = "field_too_large"
    CUSTOM_FIELDS_UNFIT = "custom_fields_unfit"
    ISSUE_IS_ANOTHER = "issue_is_another"
    PERSON_IS_ANOTHER = "person_is_another"
    PROJECT_IS_ANOTHER = "project_is_another"


class TemplateWarning(Code):
    """What a person should know of a payload that a template gave; it is sent all the same."""

    STANDS_BESIDE = "stands_beside"
    FIELD_NOT_SENT = "field_not_sent"
    FIELD_WAS_CUT = "field_was_cut"
    PROJECT_NOT_LINKED = "project_not_linked"
    VALUE_IS_ABSENT = "value_is_absent"


class JsonType(Code):
    """What a value is, or would have to be."""

    A_TEXT = "a_text"
    A_NUMBER = "a_number"
    AN_INTEGER = "an_integer"
    A_BOOLEAN = "a_boolean"
    A_LIST = "a_list"
    A_MAP = "a_map"
    AN_OBJECT = "an_object"
    JSON_NULL = "json_null"
    TRUE_OR_FALSE = "true_or_false"
    A_DATE = "a_date"


class Expected(Code):
    """What was expected where something else stands."""

    END_OF_TEMPLATE = "end_of_template"
    NAME_IN_QUOTES = "name_in_quotes"
    MARK_AFTER_NAME = "mark_after_name"
    EITHER_MARK = "either_mark"
    VALUE_OF_JSON = "value_of_json"
    FILTER_OR_END = "filter_or_end"
    NAME_OF_FILTER = "name_of_filter"
    OPERAND_OF_TAG = "operand_of_tag"
