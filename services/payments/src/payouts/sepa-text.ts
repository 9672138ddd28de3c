/** What banks take in a text: the basic Latin set of the SEPA rulebooks. */
const ALLOWED = /[^A-Za-z0-9/\-?:().,'+ ]/g
/** Letters that are not a plain letter with a mark. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  ø: 'o',

  ð: 'd',
  þ: 'th',
  ł: 'l',
  đ: 'd',
  œ: 'oe',
}

/**
 * A text as it may stand in a bank file: letters without their marks, `&` as `+`, anything else that is not allowed as a
 * space. Never empty, never longer than `lengthMax`.
 */
export function toSepaText(text: string, lengthMax: number): string {
  const plain = [...text.normalize('NFKD')].map(toLatin).join('').replace(/\p{M}/gu, '').replaceAll('&', '+')
  const allowed = plain.replace(ALLOWED, ' ').replace(/ +/g, ' ').trim().slice(0, lengthMax).trim()
  return allowed === '' ? '-' : allowed
}

function toLatin(letter: string): string {
  const latin = LETTERS[letter.toLowerCase()]
  if (latin === undefined) return letter
  return letter === letter.toLowerCase() ? latin : `${latin.charAt(0).toUpperCase()}${latin.slice(1)}`
}
