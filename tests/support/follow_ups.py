"""Follow-ups as people write them in mails, for the tests of how the tracker shows them."""

FOLLOW_UPS = {
    "signature": (
        "Hello,\n\nthe invoice run stopped again at 03:15. Could you please look into it before Friday?\n\n"
        "Kind regards\n--\nMax Mustermann | Facility Management\nMuster GmbH & Co. KG\n"
        "Tel.: +49 30 1234567-89 | Fax: +49 30 1234567-90\n"
        "max.mustermann@muster-firma.example | https://www.muster-firma.example/"
    ),
    "quote": (
        "Thanks, that helped.\n\n> On 12.03.2026 at 14:05, anna@example.test wrote:\n>\n"
        "> Please restart the *spooler* first.\n>> Which one?\n> The one on #srv_print_01."
    ),
    "forwarded": (
        "-----Original Message-----\nFrom: Service Desk <service.desk@example.test>\n"
        "To: Bob O'Neil; team+printers@example.test\nSubject: RE: [EXT] Ticket #4711 (r123)\n"
        "_____________________________\n\nSee below."
    ),
    "list with dashes": (
        "I tried:\n- another cable\n- another port (the 2nd)\n  - also without the hub\n+ a restart\n- -5 dB of gain"
    ),
    "list with stars": (
        "To do:\n* call the supplier\n* order 2 * 500 sheets\n  * A4\n    * matt\n** urgent **\n1. print\n2) sign"
    ),
    "e-mail address": "Please answer to my private address jane_doe-x@mail.example.org, not to jane@localhost. Thanks!",
    "addresses": (
        "The error is on https://shop.example.com/cart?item=12&step=2#pay_now, the manual at "
        "<https://docs.example.com/a_b_c/> (see also https://de.wikipedia.org/wiki/Drucker_(Begriff)), "
        "[https://status.example.com], www.example.com. FTP: ftp://files.example.com/in"
    ),
    "windows path": (
        "The file is on \\\\fileserver01\\share$\\Übergabe\\2026-03 and in C:\\Users\\jdoe\\AppData\\*.tmp, "
        "not in %TEMP%\\_old_\\."
    ),
    "log line": (
        "The log says:\n[2026-03-12 14:05:01] [ERROR] service[1234]: <init> failed: java.io.IOException: "
        "disk full (errno=28) @worker-3\n[2026-03-12 14:05:02] WARN {{retry}} in 5s -- giving up"
    ),
    "table of blanks": (
        "Here are the counters:\n\nDevice      Pages   Toner\nHP-4200      12345     10%\nRicoh          987      5%\n"
        "\nPlease order toner for the HP."
    ),
    "table of bars": "Stock:\n| Item | Amount |\n|------|--------|\n| A4 | 5 |\n\nName | Amount\n--- | ---\nPaper | 5",
    "numbers and names": (
        "Same as #123 and #124 (fixed in r123, commit:abc123). @alice @bob: can you check? cc user:alice, !#12"
    ),
    "emphasis": (
        "This is *very* important, _really_, -not- a joke, and some_snake_case_name or __init__ or 2*3*4 "
        "stay. ~~old~~ ~5 minutes, x^2, `uname -a`, ??, +1"
    ),
    "german quotes": (
        "Auf dem Bildschirm steht „Zugriff verweigert“ – „Fehler: 0x80070005“; danach »Abbrechen« gewählt… "
        "Grüße aus Köln, Jörg\nPS: Rückruf unter +49 (0)221 / 12 34-56 oder 0170-1234567"
    ),
    "code": (
        'C++ and C# are installed, AT&T too. Please run:\nif [ -f /etc/x ]; then\n    echo "a && b"  # done\nfi\n'
        "and send me the output of !!"
    ),
    "headings": "h1. Problem\n=========\n# systemctl status x\nbq. quoted\n\nSolution\n---\n1986. A year.",
    "a long paragraph": (
        "Good morning, since the update of last week the printers on the second floor (HP LaserJet 4200, room 2.14 "
        "and 2.15) lose their settings each night; we have to choose the tray again every morning.  My colleague "
        "(anna@example.test) says it worked on the 5th.   As the month ends on Friday and about 1,500 invoices have to "
        "be printed by then, we would be glad if somebody could come today, preferably before 11:00. Thank you!"
    ),
}
