import { type MediaType, parseMediaType } from '../body/media-type.ts'

/** One range of an `Accept` header. */
interface AcceptRange extends MediaType {
  readonly q: number
}

/** The preferred range that includes this type, or overlaps with this range; undefined when the client accepts none. */
export function preferredRange(header: string, mediaType: string): AcceptRange | undefined {
  return parseAccept(header).find(({ type, q }) => q > 0 && matchesRange(type, mediaType))
}

/** The type that the client prefers; undefined when it accepts none. An empty header accepts every type. */
export function preferredType(header: string, types: readonly string[]): string | undefined {
  if (header.trim() === '') return types[0]
  for (const { type, q } of parseAccept(header)) {
    const found = q > 0 ? types.find((candidate) => matchesRange(type, candidate)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** The ranges in the order of preference: by `q`, then by how specific they are, then by the number of parameters. */
function parseAccept(header: string): readonly AcceptRange[] {
  const ranges = header.split(',').flatMap((text): AcceptRange[] => {
    const media = parseMediaType(text)
    if (media === undefined) return []
    const parameters = new Map(media.parameters)
    const q = Number(parameters.get('q') ?? 1)
    parameters.delete('q')
    return q >= 0 && q <= 1 ? [{ type: media.type, parameters, q }] : []
  })
  return ranges.sort((a, b) => b.q - a.q || specificity(b) - specificity(a) || b.parameters.size - a.parameters.size)
}

/** How many of type and subtype a range names. */
function specificity({ type }: AcceptRange): number {
  if (type === '*/*') return 0
  return type.endsWith('/*') ? 1 : 2
}

function matchesRange(one: string, other: string): boolean {
  const [a = '', b = ''] = one.split('/')
  const [c = '', d = ''] = other.split('/')
  const matchesPart = (x: string, y: string): boolean => x === '*' || y === '*' || x === y
  return matchesPart(a, c) && matchesPart(b, d)
}

/** The scheme and the credentials of the header `Authorization`. */
export interface Credentials {
  /** In lower case: `basic`, `bearer`. */
  readonly scheme: string
  /** The text after the scheme. */
  readonly token: string
  /** For the scheme Basic. */
  readonly username?: string
  readonly password?: string
}

/** Reads `Authorization`; undefined when it is missing or malformed. */
export function parseCredentials(header: string | undefined): Credentials | undefined {
  const [, scheme = '', token = ''] = /^([A-Za-z][\w-]*) +([^\s].*)$/.exec(header ?? '') ?? []
  if (scheme === '') return undefined
  if (scheme.toLowerCase() !== 'basic') return { scheme: scheme.toLowerCase(), token: token.trim() }
  const text = decodeBase64(token.trim())
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon === -1) return undefined
  return { scheme: 'basic', token: token.trim(), username: text.slice(0, colon), password: text.slice(colon + 1) }
}

function decodeBase64(text: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
