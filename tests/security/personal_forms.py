"""Lines with personal data, made at run time, and harmless lines that look like them.

`FIRST` and `SECOND` were each run before the rules were changed for them.
"""

from __future__ import annotations

from random import Random

from tests.ingestion.test_personal_data import card, iban

_random = Random(5)


def digits(count: int) -> str:
    return "".join(_random.choice("0123456789") for _ in range(count))


def number(count: int) -> str:
    """Return digits that begin with neither 0 nor 1."""
    return _random.choice("23456789") + digits(count - 1)


def group(text: str, *sizes: int, mark: str = " ") -> str:
    """Return `text` in groups."""
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    return mark.join(text[end - size : end] for size, end in zip(sizes, ends, strict=True))


def visa() -> str:
    return card("4" + digits(14))


def mastercard() -> str:
    return card("5" + _random.choice("12345") + digits(13))


def new_mastercard() -> str:
    return card("2" + _random.choice("3456") + digits(13))


def social() -> str:
    return f"{_random.randint(100, 665)}-{_random.randint(10, 99)}-{_random.randint(1000, 9999)}"


def cpf() -> str:
    figures = [int(one) for one in digits(9)]
    for weight in (10, 11):
        figures.append(sum(figure * (weight - at) for at, figure in enumerate(figures)) * 10 % 11 % 10)
    text = "".join(map(str, figures))
    return f"{text[:3]}.{text[3:6]}.{text[6:9]}-{text[9:]}"


def dni() -> str:
    text = digits(8)
    return text + "TRWAGMYFPDXBNJZSQVHLCKE"[int(text) % 23]


def chinese() -> str:
    text = f"1101051984{_random.randint(1, 12):02}{_random.randint(1, 28):02}{digits(3)}"
    weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
    return text + "10X98765432"[sum(int(one) * weight for one, weight in zip(text, weights, strict=True)) % 11]


FIRST: dict[str, list[str]] = {
    "cards": [
        f"my visa is {visa()}",
        f"card {group(visa(), 4, 4, 4, 4, mark='-')} exp 09/27",
        f"karta {group(mastercard(), 4, 4, 4, 4)}",
        f"{group(card('37' + digits(12)), 4, 6, 5)} amex",
        f"pay with {mastercard()} cvv {digits(3)}",
        f"Kreditkarte: {visa()}",
        f"la tarjeta {mastercard()}",
        f"numéro de carte {group(visa(), 4, 4, 4, 4)}",
        f"card no. {card('3530' + digits(11))}",
        f"{card('6011' + digits(11))} is his discover",
        f"卡号{visa()}",
        f"refund to {new_mastercard()}",
        f"номер карты {group(new_mastercard(), 4, 4, 4, 4)}",
        f"card: {group(visa(), 4, 4, 4, 4, mark='.')}",
    ],
    "accounts": [
        f"IBAN {iban('DE', '37040044' + digits(10))}",
        f"my iban: {group(iban('GB', 'NWBK' + digits(14)), 4, 4, 4, 4, 4, 2)}",
        f"überweise auf {iban('AT', digits(16))}",
        f"cuenta {iban('ES', digits(20))}",
        f"conto {iban('IT', 'X' + digits(22))}",
        f"rekening {iban('BE', digits(12))}",
        f"konto {iban('PL', digits(24))}",
        f"account number {digits(8)} sort code {digits(2)}-{digits(2)}-{digits(2)}",
        f"routing number {digits(9)} account {digits(10)}",
        f"Kontonummer {digits(10)}",
        f"银行卡号 {digits(19)}",
        f"口座番号は{digits(7)}です",
        f"номер счёта {digits(20)}",
        f"{iban('ch', '00762' + digits(12)).upper()}",
        f"agência {digits(4)} conta {digits(6)}-{digits(1)}",
    ],
    "phones": [
        f"call me at +1 {number(3)}-{number(3)}-{digits(4)}",
        f"+49 1{digits(2)} {digits(7)}",
        f"my number is 07{digits(3)} {digits(6)}",
        f"Tel. 030 {digits(7)}",
        f"+33 6 {digits(2)} {digits(2)} {digits(2)} {digits(2)}",
        f"mobile +91 {number(5)} {digits(5)}",
        f"WhatsApp +55 11 9{digits(4)}-{digits(4)}",
        f"+7 (9{digits(2)}) {digits(3)}-{digits(2)}-{digits(2)}",
        f"手机号 13{digits(9)}",
        f"電話 090-{digits(4)}-{digits(4)}",
        f"휴대폰 010-{digits(4)}-{digits(4)}",
        f"tel:+4479{digits(8)}",
        f"ring him on 020 7{digits(3)} {digits(4)}",
        f"({number(3)}) {number(3)}-{digits(4)}",
        f"numéro de téléphone 06{digits(8)}",
        f"teléfono 6{digits(2)} {digits(3)} {digits(3)}",
        f"telefone (11) 9{digits(4)}-{digits(4)}",
        f"телефон 8 9{digits(2)} {digits(3)} {digits(2)} {digits(2)}",
        f"Handynummer: 0176/{digits(8)}",
        f"text me: {number(3)}.{number(3)}.{digits(4)}",
        f"0041 79 {digits(3)} {digits(2)} {digits(2)}",
        f"cellulare 3{digits(2)} {digits(7)}",
    ],
    "identity": [
        f"SSN {social()}",
        f"her social is {social()}",
        f"CPF {cpf()}",
        f"DNI {dni()}",
        f"身份证号 {chinese()}",
        f"passport number {_random.choice('CFGHJK')}{digits(8)}",
        f"Reisepass C0{digits(7)}",
        f"Steuer-ID {number(11)}",
        f"NI number QQ {digits(2)} {digits(2)} {digits(2)} C",
        f"numéro de sécu 1 {digits(2)} 05 75 {digits(3)} {digits(3)} {digits(2)}",
        f"ИНН {digits(12)}",
        f"СНИЛС {digits(3)}-{digits(3)}-{digits(3)} {digits(2)}",
        f"PESEL {digits(11)}",
        f"BSN {digits(9)}",
        f"personnummer 8{digits(1)}0312-{digits(4)}",
        f"codice fiscale RSSMRA8{digits(1)}A01H501{_random.choice('UZ')}",
        f"Aadhaar {number(4)} {digits(4)} {digits(4)}",
        f"driver's license D{digits(7)}",
        f"マイナンバー {digits(12)}",
        f"паспорт {digits(4)} {digits(6)}",
        f"주민등록번호 8{digits(1)}0312-1{digits(6)}",
        f"NIE X{digits(7)}L",
        f"RG {digits(2)}.{digits(3)}.{digits(3)}-{digits(1)}",
        f"born, Versicherungsnummer 65 {digits(6)} M {digits(3)}",
        f"medicare {digits(4)} {digits(5)} {digits(1)}",
    ],
    "mail": [
        "write to anna.berg@gmail.com",
        "privat: k.mueller@web.de",
        "mon adresse: lea_d@orange.fr",
        "pepe99@hotmail.es",
        "ivan.p@mail.ru",
        "xiaoming@163.com",
        "taro@yahoo.co.jp",
        "minsu@naver.com",
        "joao.s@uol.com.br",
        "sofie@protonmail.com",
        "jan@seznam.cz",
        "ola@wp.pl",
        "bob+x@icloud.com",
        "eva@hotmail.co.uk",
        "li.na@qq.com",
        "ana@sapo.pt",
        "piet@ziggo.nl",
        "lars@live.dk",
        "maija@luukku.com",
        "me@duck.com",
        "tom@btinternet.com",
        "nina@bluewin.ch",
        "ravi@rediffmail.com",
        "carl@comcast.net",
    ],
}
SECOND: dict[str, list[str]] = {
    "cards": [
        f"charge {visa()} please",
        f"meine Karte {group(mastercard(), 4, 4, 4, 4)}",
        f"carte bancaire {visa()}",
        f"クレジットカード{visa()}",
        f"credit card number: {group(card('6011' + digits(11)), 4, 4, 4, 4, mark='-')}",
    ],
    "accounts": [
        f"bank details: {iban('NL', 'INGB' + digits(10))}",
        f"SWIFT DEUTDEFF, {group(iban('DE', digits(18)), 4, 4, 4, 4, 4, 2)}",
        f"acct no. {digits(9)}",
        f"compte {iban('FR', digits(10) + 'A' + digits(10) + digits(2))}",
        f"Kto.-Nr. {digits(9)} BLZ {digits(8)}",
        f"IFSC HDFC000{digits(4)} a/c {digits(12)}",
    ],
    "phones": [
        f"+44 7{digits(3)} {digits(6)}",
        f"my cell's {number(3)} {number(3)} {digits(4)}",
        f"ruf mich an: 0{number(3)}-{digits(6)}",
        f"mon portable c'est le 07 {digits(2)} {digits(2)} {digits(2)} {digits(2)}",
        f"mi móvil es 6{digits(8)}",
        f"llámame al +34 6{digits(2)} {digits(2)} {digits(2)} {digits(2)}",
        f"il mio numero è 34{digits(1)} {digits(7)}",
        f"мой номер +7 9{digits(9)}",
        f"我的电话是138{digits(8)}",
        f"番号は080-{digits(4)}-{digits(4)}",
        f"numer telefonu {number(3)} {digits(3)} {digits(3)}",
        f"telefonnummer 070-{digits(3)} {digits(2)} {digits(2)}",
        f"tlf. {number(2)} {digits(2)} {digits(2)} {digits(2)}",
        f"+61 4{digits(2)} {digits(3)} {digits(3)}",
        f"phone: 1-800-{digits(3)}-{digits(4)}",
    ],
    "identity": [
        f"social security number {social()}",
        f"my passport is {_random.choice('XYZ')}{digits(8)}",
        f"Personalausweisnummer L{digits(8)}",
        f"NHS number {digits(3)} {digits(3)} {digits(4)}",
        f"CURP ABCD8{digits(1)}0312HDFRRL0{digits(1)}",
        f"cédula {digits(10)}",
        f"rodné číslo 8{digits(1)}0312/{digits(4)}",
        f"CNP 18{digits(1)}0312{digits(6)}",
        f"TC kimlik {number(11)}",
        f"PAN ABCDE{digits(4)}F",
        f"SIN {digits(3)} {digits(3)} {digits(3)}",
        f"TFN {digits(3)} {digits(3)} {digits(3)}",
        f"AHV 756.{digits(4)}.{digits(4)}.{digits(2)}",
        f"身份证{chinese()}",
        f"DNI: {dni()}",
    ],
    "mail": [
        "ping jo_k@gmail.com",
        "otto@t-online.de",
        "ines@free.fr",
        "gio@libero.it",
        "zoe@outlook.com",
        "yuki@docomo.ne.jp",
        "ha@hanmail.net",
        "ana@bol.com.br",
        "per@online.no",
        "mia@freemail.hu",
    ],
}

LOOK_ALIKES: list[str] = [
    "order 4111-2026-1126 shipped",
    "build 20261126.3.104 is green",
    "commit 1234567812345678 broke it",
    "ticket 4532-1198-2231 closed",
    "trace 4bf92f3577b34da6a3ce929d0e0e4736",
    "timestamp 1732646400000 ms",
    "epoch 1764115200 is midnight",
    "version 10.0.19045.3803",
    "ISBN 978-3-16-148410-0",
    "port range 30000-32767",
    "listen 192.168.100.200:65535",
    "pid 1234567 exited 137",
    "memory 16777216 bytes",
    "offset 4294967295 overflows",
    "max int 9223372036854775807",
    "id: 5500000000000001",
    "row 100000000000 scanned",
    "0x1234567890abcdef",
    "UUID 550e8400-e29b-41d4-a716-446655440000",
    "snowflake 175928847299117063",
    "user 12345678 not found",
    "PR #48213 closes #47711",
    "issue 202611260001",
    "2026-11-26 17:30:12.123456",
    "20261126T173012Z",
    "+1 -1 @@ -12,7 +12,9 @@",
    "range 10-20-30-40",
    "10.15.20.25/24",
    "v1.22.333-4444",
    "3.14159265358979",
    "support@shop.test",
    "noreply@github.com",
    "dev-team@company.io",
    "git@gitlab.test:a/b",
    "security@python.org",
    "hello@startup.dev",
    "jobs@bigcorp.com",
    "root@localhost",
    "1234@internal.corp",
    "no-reply@mail.shop.com",
    "call the function 3 times",
    "phone field is a string of 20 chars",
    "the phone column was dropped in 20260301",
    "mobile layout below 768px",
    "tel: links are escaped",
    "fax support removed in v2.3.1",
    "number is 12 by default",
    "the passport.js strategy 0.7.0",
    "passport-jwt 4.0.1 is used",
    "account id 12 has 3 users",
    "account_number VARCHAR(34)",
    "IBAN validation uses mod 97",
    "konto_id=42",
    "card layout has 4 columns",
    "card component v4111",
    "credit 100.00 EUR",
    "ssn column is encrypted",
    "nir band 850nm",
    "dni flag unset",
    "rg -n 12345678 src",
    "nie wieder 2026",
    "tax id field optional",
    "bsn module 1.2.3",
    "pesel regex has 11 digits",
    "aadhaar api v2.5",
    "medicare dataset 2026",
    "numéro 12 de la liste",
    "номер 42 в списке",
    "телефон хранится строкой",
    "手机号校验用正则11位",
    "電話番号は文字列",
    "cpf mask 000.000.000-00 in docs",
    "phone format +1 (XXX) XXX-XXXX",
    "use +49 as the prefix",
    "00 is padded to 4",
    "timeout 30 000 ms",
    "1 000 000 rows",
    "12 345 678 hits",
    "loss 0.00012345678",
    "sha1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "md5 d41d8cd98f00b204e9800998ecf8427e",
    "base 4000000000000000",
    "seq 6011 to 6099",
    "error 3530 in step 12",
    "0123456789 is the alphabet",
    "digits 0123456789abcdef",
    "exit 0 after 1234567890 ns",
    "GET /items/4532015112830361/edit",
    "cluster ip 10.96.0.1",
    "mac 00:1a:2b:3c:4d:5e",
    "ean 4006381333931",
    "sku 4532-AB-1283",
    "lat 52.520008 lon 13.404954",
    "zip 94103-1234",
    "frame 1920x1080@60",
    "coordinate 5555,4444,3333",
    "quota 5000000000",
    "licence MIT 2019-2026",
    "python 3.11.7 (main, 20240101)",
    "chrome/119.0.6045.105",
]
