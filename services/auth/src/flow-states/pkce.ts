import { validationFailed } from '../errors.ts'

/** The challenge of a PKCE flow (RFC 7636). */
export interface PkceChallenge {
  readonly challenge: string
  readonly method: 's256' | 'plain'
}

const LENGTH_MIN = 43
const LENGTH_MAX = 128

/**
 * Checks the pair of a request (contract 7.6). Empty counts as absent.
 * @returns undefined when the request is no PKCE flow
 * @throws validationFailed
 */
export function parsePkce(challenge: string | undefined, method: string | undefined): PkceChallenge | undefined {
  if (!challenge && !method) return undefined
  if (!challenge || !method) throw refuse('PKCE flow requires code_challenge_method and code_challenge')
  if (challenge.length < LENGTH_MIN || challenge.length > LENGTH_MAX) {
    throw refuse(`code challenge has to be between ${LENGTH_MIN} and ${LENGTH_MAX} characters`)
  }
  if (!/^[A-Za-z0-9._~-]*$/.test(challenge)) {
    throw refuse('code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes')
  }
  const name = method.toLowerCase()
  if (name !== 's256' && name !== 'plain') throw refuse(`unsupported code_challenge_method ${JSON.stringify(method)}`)
  return { challenge, method: name }
}

function refuse(message: string) {
  return validationFailed({ message })
}
