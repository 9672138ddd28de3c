// Reads what a customer types or a program fills in. Without this script, the server reads the same (card-form.ts).

/** The month and the year. Some programs fill in the four-digit year before the month. */
const EXPIRIES = [
  /^(?<month>0?[1-9]|1[0-2])\s*[/.\-\s]?\s*(?:20)?(?<year>\d{2})$/,
  /^20(?<year>\d{2})\s*[/.\-\s]?\s*(?<month>0?[1-9]|1[0-2])$/,
]

/** Returns the month and the two-digit year of an expiry as texts, or `undefined` for any other text. */
export function readExpiry(text) {
  const plain = plainExpiry(text).trim()
  return EXPIRIES.map((form) => form.exec(plain)?.groups).find((groups) => groups !== undefined)
}

/** Converts digits, dashes and slashes of any script to ASCII, and removes invisible characters. */
function plainExpiry(text) {
  return asciiDigits(text)
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\p{Pd}\u2212]/gu, '-')
    .replaceAll(/[\u2044\u2215\uff0f]/g, '/')
}

/** Returns the decimal digits of a text, in any script, without the characters between them. */
export function digitsIn(text) {
  return asciiDigits(text).replaceAll(/[^0-9]/g, '')
}

/** Unicode has the digits of a script in a block of ten that begins with zero. Some blocks are adjacent. */
function asciiDigits(text) {
  return text.replaceAll(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)
    let zero = code
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
    return (code - zero) % 10
  })
}

/**
 * Formats an expiry while the customer types it. The function adds the slash after the month, and replaces any typed separator
 * with it. No valid card expires from 2000 to 2009. So 02/0 is the beginning of a four-digit year, as in 2029-03. 12/0 is January
 * and the beginning of such a year, as in 12029.
 */
export function slash(text) {
  return plainExpiry(text)
    .replace(/^([2-9])$/, '0$1')
    .replace(/^(0[1-9]|1[0-2])$/, '$1/')
    .replace(/^(0[1-9]|1[0-2])\/[/.\-\s]+$/, '$1/')
    .replace(/^02\/0$/, '20')
    .replace(/^12\/0$/, '120')
}
