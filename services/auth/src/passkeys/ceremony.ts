import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Assertion, CredentialOptions, Registration, StoredCredential } from './credential.ts'

/** The service that requests credentials (WEBAUTHN_RP_…). */
export interface RelyingParty {
  /** The domain to which credentials are bound. */
  readonly id: string
  readonly displayName: string
  /** Origins of pages that may use the credentials. */
  readonly origins: readonly string[]
}

/** The settings of a ceremony. Without `relyingParty`, WebAuthn is not configured, and no ceremony can begin. */
export interface CeremonyDeps {
  readonly config: { readonly webauthn: { readonly relyingParty: RelyingParty | undefined } }
  readonly logger: ServiceLogger['logger']
}

/** The limit of WebAuthn, level 3, 7.1. A database index cannot contain longer ids. */
const ID_BYTES_MAX = 1_023

/** A request for a new credential of a user. `userId` is its user handle. */
export interface CreationRequest {
  readonly userId: string
  /** The account name for the authenticator's display. */
  readonly account: string
  /** The user's credentials. An authenticator with one of these creates no other. */
  readonly known: readonly StoredCredential[]
  /** Whether the authenticator must find the credential without a list of ids. */
  readonly residentKey: 'required' | 'discouraged'
  readonly timeoutMs: number
}

/** A request to an authenticator, and its challenge. */
export interface CredentialRequest {
  readonly options: CredentialOptions
  readonly challenge: string
}

/** Requests a new credential, without attestation, because the model of the authenticator does not matter. */
export async function askForCreation(
  { config }: CeremonyDeps,
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

/** @param known the allowed credentials; empty for any that the authenticator finds */
export async function askForAssertion(
  { config }: CeremonyDeps,
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

/** The user handle, which identifies the account to an authenticator: the bytes of the user's id. */
function toUserHandle(userId: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(userId.replaceAll('-', ''), 'hex'))
}

/**
 * Whether a response names the account of its credential. It must if the request named no credentials (WebAuthn, 7.2). Passkeys
 * registered by supabase/auth have the text of the id as user handle.
 */
export function namesUser({ response: { userHandle } }: Assertion, userId: string): boolean {
  const handle = Buffer.from(userHandle ?? '', 'base64url')
  return handle.equals(toUserHandle(userId)) || handle.equals(Buffer.from(userId))
}

/** Verifies the response to `askForCreation`. @returns the new credential, or `undefined` for a wrong response */
export async function verifyCreation(
  deps: CeremonyDeps,
  response: Registration,
  challenge: string,
): Promise<StoredCredential | undefined> {
  const { verifyRegistrationResponse } = await loadLibrary()
  return logRefusal(deps, async ({ id, origins }) => {
    const { transports = [], clientDataJSON, attestationObject } = response.response
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...response,
        response: { clientDataJSON, attestationObject: await removeAttestation(attestationObject) },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: false,
    })
    if (!registrationInfo) return undefined
    const { credential, credentialDeviceType } = registrationInfo
    const { id: credentialId, publicKey, counter } = credential
    if (Buffer.from(credentialId, 'base64url').length > ID_BYTES_MAX) return undefined
    return {
      id: credentialId,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      counter,
      transports,
      backupEligible: credentialDeviceType === 'multiDevice',
    }
  })
}

/** Verifies the response to `askForAssertion`. @returns the credential after this use, or `undefined` if wrong */
export async function verifyAssertion(
  deps: CeremonyDeps,
  { response, challenge }: { readonly response: Assertion; readonly challenge: string },
  credential: StoredCredential,
): Promise<StoredCredential | undefined> {
  if (response.id !== credential.id) return undefined
  const { verifyAuthenticationResponse } = await loadLibrary()
  return logRefusal(deps, async ({ id, origins }) => {
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

/** The settings guarantee a relying party if a ceremony is enabled. */
function requireRelyingParty({ webauthn }: CeremonyDeps['config']): RelyingParty {
  if (!webauthn.relyingParty) throw new Error('no relying party is set')
  return webauthn.relyingParty
}

function toDescriptor({ id, transports }: StoredCredential): { id: string; transports: string[] } {
  return { id, transports: [...transports] }
}

/** Logs the library's exceptions. They name the cause for the operator, such as a missing origin. */
async function logRefusal<Result>(
  { config, logger }: CeremonyDeps,
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
 * Removes the statement from an attestation, because the service requests none. To verify an unrequested statement, the library
 * would fetch revocation lists from URLs in its certificates, which the client chooses.
 */
async function removeAttestation(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers')
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData')
  const bare = new Map<string, string | Uint8Array<ArrayBuffer> | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, string>()],
    ['authData', authData],
  ])
  return isoBase64URL.fromBuffer(isoCBOR.encode(bare))
}

/** Loads the library with the first ceremony, because it is large and would delay every start. */
function loadLibrary() {
  return import('@simplewebauthn/server')
}
