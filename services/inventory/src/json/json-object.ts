import { badRequest } from '../errors.ts'
import { scanJson } from './scan-json.ts'

/** A member that is an object or an array, as the text it was sent as: parsing it would cost large numbers their digits. */
export interface JsonText {
  readonly jsonText: string
}

/** Whether a member of a body is an object or an array. No client can send a JsonText as such: it would be wrapped again. */
export function isJsonText(value: unknown): value is JsonText {
  return typeof value === 'object' && value !== null && 'jsonText' in value && typeof value.jsonText === 'string'
}

export type JsonMember = string | number | boolean | null | JsonText

const DEPTH_MAX = 64
const MEMBERS_MAX = 1_000

/**
 * Reads the JSON object that a request body must be. Members that are objects or arrays stay text.
 * @throws badRequest for anything else, for prototype keys at any depth, and beyond 64 levels or 1,000 members
 * @see contract of the framework, section 3, edge cases
 */
export function readJsonObject(text: string): Readonly<Record<string, JsonMember>> {
  const value = parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest({ message: 'The request body must be a JSON object.' })
  }
  const scan = scanJson(text)
  if (scan.prototypeKey !== 'none') {
    throw badRequest({ message: `The request body must not have a key ${scan.prototypeKey}.` })
  }
  if (scan.depth > DEPTH_MAX)
    throw badRequest({ message: `The request body is nested deeper than ${DEPTH_MAX} levels.` })
  const entries = Object.entries(value)
  if (entries.length > MEMBERS_MAX) {
    throw badRequest({ message: `The request body has more than ${MEMBERS_MAX} members.` })
  }
  const members = entries.map(([key, member]): [string, JsonMember] => {
    const nested = scan.nested.get(key)
    return [key, Object(member) === member && nested !== undefined ? { jsonText: nested } : member]
  })
  return Object.fromEntries(members)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw badRequest({ message: 'The request body is not valid JSON.', cause })
  }
}
