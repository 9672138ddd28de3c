import { badRequest } from '../errors.ts'

/** Fields of a form; one that was sent several times is a list, which no schema of this service takes for a text. */
export type FormFields = Readonly<Record<string, string | readonly string[]>>

const FIELDS_MAX = 1_000

/**
 * Reads an `application/x-www-form-urlencoded` text.
 * @throws badRequest for percent sequences that are not UTF-8, for a field `__proto__`, and beyond 1,000 fields
 */
export function readForm(text: string): FormFields {
  const pairs = text.split('&').filter((pair) => pair !== '')
  if (pairs.length > FIELDS_MAX) throw badRequest({ message: `The form has more than ${FIELDS_MAX} fields.` })
  const fields = new Map<string, string | string[]>()
  for (const pair of pairs) {
    const [name = '', ...rest] = pair.split('=')
    const [key, value] = [decodeField(name), decodeField(rest.join('='))]
    if (key === '__proto__') throw badRequest({ message: 'The form must not have a field __proto__.' })
    const known = fields.get(key)
    fields.set(key, known === undefined ? value : [known, value].flat())
  }
  return Object.fromEntries(fields)
}

function decodeField(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw badRequest({ message: 'The form holds a broken percent sequence.', cause })
  }
}
