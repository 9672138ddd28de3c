import { malformedId, validationFailed } from './errors.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const NIL = '00000000-0000-0000-0000-000000000000'

/** A UUID of a path, in any case. @param name how its error calls it, for example `user_id` @throws malformedId */
export function requireId(name: string, text: string): string {
  const id = parseId(text)
  if (id === undefined) throw malformedId({ message: `${name} must be an UUID` })
  return id
}

/** The id that a new user shall have: a bad one is a bad request, not a page that is missing. @throws validationFailed */
export function requireNewId(text: string): string {
  const id = parseId(text)
  if (id === undefined) throw validationFailed({ message: 'user_id must be an UUID' })
  if (id === NIL) throw validationFailed({ message: 'user_id may not be the nil UUID' })
  return id
}

/** A UUID of a request, in lower case; undefined for anything else. */
export function parseId(text: string): string | undefined {
  const id = text.toLowerCase()
  return UUID.test(id) ? id : undefined
}
