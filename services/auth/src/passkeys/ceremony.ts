import type { AuthDeps } from '../deps.ts'
import type { Assertion, CredentialOptions, Registration, StoredCredential } from './credential.ts'

/** Who asks for credentials (WEBAUTHN_RP_…). */
export interface RelyingParty {
  /** A domain; credentials are bound to it. */
  readonly id: string
  readonly displayName: string
  /** Pages that may use the credentials. */
  readonly origins: readonly string[]
}

type Deps = Pick<AuthDeps, 'config' | 'logger'>

/** What the standard permits (WebAuthn, level 3, 7.1): an index of the database takes no row of any length. */
const ID_BYTES_MAX = 1_023

export interface CreationRequest {
  readonly userId: string
  /** What the authenticator calls the account. */
  readonly account: string
  /** Credentials of the user: an authenticator that has one of them makes no other. */
  readonly known: readonly StoredCredential[]
  /** Whether the credential must be found without a list of those that are allowed. */
  readonly residentKey: 'required' | 'discouraged'
  readonly timeoutMs: number
}

/** A request to an authenticator, and the challenge in it. */
export interface CredentialRequest {
  readonly options: CredentialOptions
  readonly challenge: string
}

/** Asks for a new credential. The authenticator need not prove what it is: nothing is decided by its make. */
export async function askForCreation(
  { config }: Deps,
  { userId, account, known, residentKey, timeoutMs }: CreationRequest,
): Promise<CredentialRequest> {
  const { generateRegistrationOptions } = await loadLibrary()
  const { id, displayName } = requireRelyingParty(config)
  const options = await generateRegistrationOptions({
    rpID: id,
    rpName: displayName,
    userID: toUserHandle(userId),
    userName: account,
    userDisplayName: account,
    timeout: timeoutMs,
    attestationType: 'none',
    excludeCredentials: known.map(toDescriptor),
    authenticatorSelection: { residentKey, userVerification: 'preferred' },
  })
  return { options: { ...options }, challenge: options.challenge }
}

/** Asks for the use of a credential. @param known those that are allowed; none: whichever the authenticator finds */
export async function askForAssertion(
  { config }: Deps,
  { known, timeoutMs }: Pick<CreationRequest, 'known' | 'timeoutMs'>,
): Promise<CredentialRequest> {
  const { generateAuthenticationOptions } = await loadLibrary()
  const allowed = known.length === 0 ? {} : { allowCredentials: known.map(toDescriptor) }
  const options = await generateAuthenticationOptions({
    rpID: requireRelyingParty(config).id,
    timeout: timeoutMs,
    userVerification: 'preferred',
    ...allowed,
  })
  return { options: { ...options }, challenge: options.challenge }
}

/** What an authenticator keeps of the account that a credential is for: the bytes of the user's id. */
function toUserHandle(userId: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(userId.replaceAll('-', ''), 'hex'))
}

/** Whether an answer names the account that has its credential, as one to a request without names must (WebAuthn, 7.2). */
export function namesUser({ response: { userHandle } }: Assertion, userId: string): boolean {
  return Buffer.from(userHandle ?? '', 'base64url').equals(toUserHandle(userId))
}

/** Checks the answer to `askForCreation`. @returns the new credential, undefined for an answer that is not right */
export async function verifyCreation(
  deps: Deps,
  response: Registration,
  challenge: string,
): Promise<StoredCredential | undefined> {
  const { verifyRegistrationResponse } = await loadLibrary()
  return unlessRefused(deps, async ({ id, origins }) => {
    const { transports = [], clientDataJSON, attestationObject } = response.response
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...response,
        response: { clientDataJSON, attestationObject: await withoutAttestation(attestationObject) },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: false,
    })
    if (!registrationInfo) return undefined
    const { id: credentialId, publicKey, counter } = registrationInfo.credential
    if (Buffer.from(credentialId, 'base64url').length > ID_BYTES_MAX) return undefined
    return { id: credentialId, publicKey: Buffer.from(publicKey).toString('base64url'), counter, transports }
  })
}

/** Checks the answer to `askForAssertion`. @returns the credential as it is after this use, undefined where it is not right */
export async function verifyAssertion(
  deps: Deps,
  { response, challenge }: { readonly response: Assertion; readonly challenge: string },
  credential: StoredCredential,
): Promise<StoredCredential | undefined> {
  if (response.id !== credential.id) return undefined
  const { verifyAuthenticationResponse } = await loadLibrary()
  return unlessRefused(deps, async ({ id, origins }) => {
    const { clientDataJSON, authenticatorData, signature } = response.response
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...response,
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      credential: {
        id: credential.id,
        publicKey: Uint8Array.from(Buffer.from(credential.publicKey, 'base64url')),
        counter: credential.counter,
      },
      requireUserVerification: false,
    })
    return verified ? { ...credential, counter: authenticationInfo.newCounter } : undefined
  })
}

/** The settings have one wherever a ceremony is switched on. */
function requireRelyingParty({ webauthn }: AuthDeps['config']): RelyingParty {
  if (!webauthn.relyingParty) throw new Error('no relying party is set')
  return webauthn.relyingParty
}

function toDescriptor({ id, transports }: StoredCredential): { id: string; transports: string[] } {
  return { id, transports: [...transports] }
}

/** The library says by exceptions what is wrong; the log tells the operator, for example which origin is missing. */
async function unlessRefused<Result>(
  { config, logger }: Deps,
  verify: (party: RelyingParty) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  try {
    return await verify(requireRelyingParty(config))
  } catch (error) {
    logger.info({ reason: error instanceof Error ? error.message : String(error) }, 'WebAuthn response refused')
    return undefined
  }
}

/**
 * An attestation without its statement. None is asked for, and to look at one that a client sends all the same would mean to
 * fetch the revocation lists that its certificates name: addresses of the client's choice.
 */
async function withoutAttestation(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers')
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData')
  const bare = new Map<string, string | Uint8Array<ArrayBuffer> | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, string>()],
    ['authData', authData],
  ])
  return isoBase64URL.fromBuffer(isoCBOR.encode(bare))
}

/** With the first ceremony: the library is large, and no start waits for it. */
function loadLibrary() {
  return import('@simplewebauthn/server')
}
