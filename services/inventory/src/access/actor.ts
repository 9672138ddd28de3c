import type { Identity } from './token-verifier.ts'

/** The `sub` of the request's token; null when authentication is off. */
export function actorOf({ identity }: { readonly identity: unknown }): string | null {
  return isIdentity(identity) ? identity.actor : null
}

function isIdentity(value: unknown): value is Identity {
  return typeof value === 'object' && value !== null && 'actor' in value && typeof value.actor === 'string'
}
