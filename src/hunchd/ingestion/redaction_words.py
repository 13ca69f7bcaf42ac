"""Words for "password" in other languages, and for "is" after them."""

from __future__ import annotations

import re
from typing import Final

# In lower case. English words, and words that contain "pass", are covered by `redaction_rules`.
_NOUNS: Final = (
    "passwort", "kennwort", r"\bmdp\b", "losungswort", "zugangscode", "passord", "wachtwoord", "lösenord", "losenord",
    "adgangskode",
    "kodeord", "salasana", "parool", "lykilorð",
    "contraseña", "contrasenya", "contrasena", "parola d'ordine", r"\bclave\b", r"\bsenha\b", "mot de passe",
    "palavra-passe", r"\bparola",
    "contrasinal", r"\bparolă",
    r"\bпарол", "гасло", "лозинка", "hasło", "hasła", r"\bhaslo\b", r"\bheslo\b",
    r"\bhesla\b",
    r"\blozinka\b", r"\bgeslo\b", "slaptažod", r"\bparole\b", "jelszó", "jelszava",
    "κωδικός", "κωδικό", "συνθηματικό", r"\bşifre", r"\bsifre\b", "סיסמה", "סיסמא", "הסיסמה", "كلمة المرور",
    "كلمة السر", "كلمة مرور", "كلمة سر",
    "رمز عبور", "گذرواژه", "पासवर्ड", "पासवर्ड", "mật khẩu", "รหัสผ่าน", "kata sandi", "kata laluan",
    "密码", "密碼", "口令", "パスワード", "暗証番号", "合言葉", "비밀번호", "비번", "암호", "패스워드",
)  # fmt: skip
NOUNS: Final = "|".join(_NOUNS)
ASCII_STEMS: Final = tuple(noun.replace(r"\b", "") for noun in _NOUNS if noun.isascii() and "pass" not in noun)
ANY_NOUN: Final = re.compile("|".join(noun for noun in _NOUNS if not noun.isascii()))

# Words for logging in, and for the name of a user.
LOGIN_WORDS: Final = (
    r"zugang|anmeld|benutzer|utilisateur|identifiant|connexion|acc[eè]s|usu[aá]ri|utente|inicia"
    r"|entrar?\b|acesso|inlog|konto"
    "|логин|вход|доступ|пользовател|учетн|учётн|用户|账号|登录|ユーザ|アカウント|ログイン|사용자|로그인|kullanıcı|giriş"
)
# Words for a key of an interface.
KEY_WORDS: Final = (
    r"schlüssel|\bcl[eé]\b|llave|\bclave\b|\bchave\b|chiave|sleutel|klucz"
    r"|klíč|ключ|токен|anahtar|密钥|密鑰|令牌|キー|トークン|토큰"
)

# Words between the noun and the password, with spaces around them.
COPULAS: Final = (
    "is|was|to|be|ist|lautet|war|est|es|era|sera|será|é|foi|è|c'est|era|jest|brzmi|to|je|był|było|bylo|är|er|on|oli|is|wordt"
    "|olarak|este|van|az|это|был|є|είναι|היא|הוא|هي|هو|है|là|คือ|adalah|ialah|=|-|–|—|→"
)
# The same in languages that write no spaces around them.
JOINED_COPULAS: Final = "是|为|為|は|が|を|는|은|이|가|คือ"
