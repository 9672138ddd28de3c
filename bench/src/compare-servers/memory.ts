import { createHash } from 'node:crypto'
import { totpCode } from '../fixtures.ts'
import type { Json } from './step.ts'
import { forge, type Issuer, signIdToken } from './tokens.ts'

/** The values that steps have stored, and the provider as the server under test sees it. */
export interface Memory extends Issuer {
  readonly kept: Map<string, Json>
}

/** A step needs a value that no earlier step has stored. */
export class Missing extends Error {}

/**
 * Replaces the placeholders of a text, and gives each subject its own email addresses:
 * - `{name.member.0}`: a value that a step stored
 * - `{totp name}` and `{totp name 1}`: the code of an authenticator app now, and one step of 30 s later
 * - `{id_token account}`: a token of the stub provider
 * - `{realm}`: the address of the stub provider
 * - `{challenge verifier}`: the PKCE challenge (S256) of a verifier
 * - `{jwt kind name}`: a forged token, based on the token of a user
 * @throws Missing if no step has stored the name
 */
export function fill(text: string, memory: Memory): string {
  const own = text.replaceAll(/@(?=(example\.com|list\.example)\b)/gi, `@${memory.tag}.`)
  return own.replaceAll(/\{([a-z][^{}":]*)\}/g, (_whole, inside: string) => resolve(inside, memory))
}

function resolve(inside: string, memory: Memory): string {
  const [first = '', second = '', third = '0'] = inside.split(' ')
  if (first === 'realm') return memory.realm
  if (first === 'challenge') return createHash('sha256').update(second).digest('base64url')
  if (first === 'id_token') return signIdToken(second, memory)
  if (first === 'jwt') return forge(second, find(`${third}.access_token`, memory))
  if (first === 'totp') return totpCode(find(`${second}.totp.secret`, memory), Number(third))
  return find(inside, memory)
}

function find(path: string, { kept }: Memory): string {
  const [name = '', ...members] = path.split('.')
  let value: unknown = kept.get(name)
  for (const member of members) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, member) : undefined
  }
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw new Missing(`nothing was kept as ${path}`)
}

export function fillJson(value: Json, memory: Memory): Json {
  if (typeof value === 'string') return fill(value, memory)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: Json) => fillJson(item, memory))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillJson(item, memory)]))
}
