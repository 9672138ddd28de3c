/** What `Authorization` holds. */
export interface Credentials {
  /** As written, lower-case: `basic`, `bearer`. */
  readonly scheme: string
  /** All that follows the scheme. */
  readonly token: string
  /** Of the scheme Basic. */
  readonly username?: string
  readonly password?: string
}

/** Reads `Authorization`; undefined when it is absent or malformed. */
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
