// Reads what a customer types or a program fills in. The server reads the same without a script (card-form.ts).

/** The month and the year, or the year with its century and the month, as programs fill them in. */
const EXPIRIES = [
  /^(?<month>0?[1-9]|1[0-2])\s*[/.\-\s]?\s*(?:20)?(?<year>\d{2})$/,
  /^20(?<year>\d{2})\s*[/.\-\s]?\s*(?<month>0?[1-9]|1[0-2])$/,
]

/** The month and the year of an expiry, as texts. Undefined for anything else. */
export function readExpiry(text) {
  const plain = plainExpiry(text).trim()
  return EXPIRIES.map((form) => form.exec(plain)?.groups).find((groups) => groups !== undefined)
}

/** Digits, dashes and slashes of any script as those of ASCII, without characters that nobody sees. */
function plainExpiry(text) {
  return asciiDigits(text)
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\p{Pd}\u2212]/gu, '-')
    .replaceAll(/[\u2044\u2215\uff0f]/g, '/')
}

/** The decimal digits of a text, in any script, without what stands between them. */
export function digitsIn(text) {
  return asciiDigits(text).replaceAll(/[^0-9]/g, '')
}

/** Unicode has the digits of a script in a block of ten that begins with zero, and some blocks stand side by side. */
function asciiDigits(text) {
  return text.replaceAll(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)
    let zero = code
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
    return (code - zero) % 10
  })
}

/**
 * An expiry while it is typed. The slash behind the month writes itself, and takes the place of each separator that is typed
 * there. No card expires from 2000 to 2009 any more, so 02/0 is the beginning of a year with its century, as in 2029-03, and
 * 12/0 is January with such a year, as in 12029.
 */
export function slash(text) {
  return plainExpiry(text)
    .replace(/^([2-9])$/, '0$1')
    .replace(/^(0[1-9]|1[0-2])$/, '$1/')
    .replace(/^(0[1-9]|1[0-2])\/[/.\-\s]+$/, '$1/')
    .replace(/^02\/0$/, '20')
    .replace(/^12\/0$/, '120')
}
