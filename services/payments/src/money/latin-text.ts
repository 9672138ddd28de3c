import table from './latin-letters.json' with { type: 'json' }

const LETTERS: ReadonlyMap<string, string> = new Map(Object.entries(table.letters))
/** The basic Latin set of the SEPA rulebooks (EPC217-08). */
const SEPA = /^[A-Za-z0-9/\-?:().,'+ ]$/
const PRINTABLE_ASCII = /^[\x20-\x7e]$/

/**
 * Returns the text in the characters that bank files allow (EPC217-08), with at most `lengthMax` characters. Converts Greek and
 * Cyrillic to Latin letters, removes diacritics, and reduces repeated spaces to one. A character without an equivalent becomes a
 * full stop. Returns an empty text if no letter or digit is left, for example for a name in Arabic or Han.
 */
export function toSepaText(text: string, lengthMax: number): string {
  return cut(transliterate(text, SEPA).replace(/ +/g, ' ').trim(), lengthMax).trim()
}

/** Like `toSepaText`, for a name. Empty if any letter or digit has no equivalent, as a full stop changes a name. */
export function toSepaName(name: string, lengthMax: number): string {
  const letters = name.normalize('NFC').match(/[\p{L}\p{N}]/gu) ?? []
  const isWritten = letters.every((letter) => SEPA.test(letter) || findLatin(letter, SEPA) !== undefined)
  return isWritten ? toSepaText(name, lengthMax) : ''
}

/** Returns the text in printable ASCII, the characters that card statements allow. Repeated spaces stay. */
export function toAsciiText(text: string, lengthMax: number): string {
  return cut(transliterate(text, PRINTABLE_ASCII), lengthMax)
}

function cut(text: string, lengthMax: number): string {
  const kept = text.slice(0, lengthMax)
  return /[A-Za-z0-9]/.test(kept) ? kept : ''
}

function transliterate(text: string, allowed: RegExp): string {
  const characters = [...text.normalize('NFC')]
  return characters.map((character, at) => toLatin(character, { allowed, characters, at })).join('')
}

interface Place {
  readonly allowed: RegExp
  readonly characters: readonly string[]
  readonly at: number
}

function toLatin(character: string, { allowed, characters, at }: Place): string {
  if (allowed.test(character)) return character
  if (/\s/u.test(character)) return ' '
  // Remove combining marks that fit no letter, and invisible characters. Control characters become spaces.
  if (/[\p{M}\p{C}]/u.test(character)) return /\p{Cc}/u.test(character) ? ' ' : ''
  const latin = findLatin(character, allowed)
  if (latin === undefined) return '.'
  const isCapital = latin.length > 1 && /\p{Lu}/u.test(character)
  return isCapital && !isAmongCapitals(characters, at) ? latin.charAt(0) + latin.slice(1).toLowerCase() : latin
}

function findLatin(character: string, allowed: RegExp): string | undefined {
  const small = character.toLowerCase()
  const latin = LETTERS.get(character) ?? (small === character ? undefined : LETTERS.get(small)?.toUpperCase())
  if (latin !== undefined) return latin
  const parts = [...character.normalize('NFKD').replaceAll(/\p{M}/gu, '')]
  if (parts.length === 1 && parts[0] === character) return undefined
  const found = parts.map((part) => (allowed.test(part) ? part : findLatin(part, allowed)))
  return found.includes(undefined) ? undefined : found.join('')
}

/** Whether the next letter, or else the previous one, is a capital. ΘΑΛΑΣΣΑ is THALASSA, and Θάλασσα is Thalassa. */
function isAmongCapitals(characters: readonly string[], at: number): boolean {
  const letters = [characters[at + 1], characters[at - 1]].filter((near) => near !== undefined && /\p{L}/u.test(near))
  return letters[0] !== undefined && /\p{Lu}/u.test(letters[0])
}
