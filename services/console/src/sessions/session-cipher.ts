import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { z } from 'zod'

const Session = z.object({
  /** The session id in auth. */
  id: z.string(),
  refreshToken: z.string(),
  /** How often the refresh token was replaced. A higher number is newer. */
  generation: z.int(),
  /** In milliseconds since 1970. */
  signedInAt: z.int(),
  usedAt: z.int(),
  /** A second factor exists but is not used yet. Until then, no page opens. */
  needsFactor: z.literal(true).optional(),
  /** Whether the access token of this refresh token has a second factor. */
  hasSecondFactor: z.boolean().optional(),
  /** No page was opened since the sign-in. */
  isNew: z.literal(true).optional(),
  /** The notice about the last change, for the next page. */
  toast: z.string().transform(cutNotice).optional(),
})

/** The content of the session cookie, without an access token (console reference: Sessions of the console). */
export type Session = z.infer<typeof Session>

/** A session ends after this time without use. */
export const IDLE_MS = 30 * 60_000
/** A session ends after this time, even if it is used. */
export const LIFE_MS = 12 * 3_600_000

/** Whether a session has expired by the clock of the console. Auth may end a session earlier. */
export function isOver({ signedInAt, usedAt }: Pick<Session, 'signedInAt' | 'usedAt'>, now: Date): boolean {
  return now.getTime() - usedAt >= IDLE_MS || now.getTime() - signedInAt >= LIFE_MS
}

/** Browsers drop a cookie of more than 4,096 bytes (RFC 6265bis). Encryption and base64url enlarge a notice by a third. */
const NOTICE_BYTES_MAX = 2_000

function cutNotice(text: string): string {
  const bytesOf = (part: string) => Buffer.byteLength(JSON.stringify(part)) - 2
  if (bytesOf(text) <= NOTICE_BYTES_MAX) return text
  const characters = [...text]
  let bytes = bytesOf('\u2026')
  const end = characters.findIndex((character) => {
    bytes += bytesOf(character)
    return bytes > NOTICE_BYTES_MAX
  })
  return `${characters.slice(0, end).join('')}\u2026`
}

/** Encrypts cookies, and verifies that a form came from a page of its session. */
export interface SessionCipher {
  encrypt(session: Session): Promise<string>
  /** Resolves to `undefined` if none of the secrets encrypted the text. */
  decrypt(text: string): Promise<Session | undefined>
  /** Returns the value of `_csrf` for the forms of a session. */
  formToken(sessionId: string): string
  isFormToken(sessionId: string, token: string): boolean
}

const ENCRYPTION = { alg: 'dir', enc: 'A256GCM' } as const
const KEY_BYTES = 32

/**
 * The first secret encrypts, and every secret decrypts. Secrets can be replaced without ending sessions.
 * @param secrets at least 32 random bytes each
 * @throws Error without a secret
 */
export function createSessionCipher(secrets: readonly Buffer[]): SessionCipher {
  const derive = (purpose: string) => secrets.map((secret) => deriveKey(secret, purpose))
  const [cookieKeys, formKeys] = [derive('trestle console cookie'), derive('trestle console form')]
  const [cookieKey] = cookieKeys
  const [formKey] = formKeys
  if (cookieKey === undefined || formKey === undefined)
    throw new Error('a session cannot be encrypted without a secret')
  const macOf = (key: Uint8Array, sessionId: string) => createHmac('sha256', key).update(sessionId).digest()
  return {
    encrypt: (session) =>
      new CompactEncrypt(new TextEncoder().encode(JSON.stringify(Session.parse(session))))
        .setProtectedHeader(ENCRYPTION)
        .encrypt(cookieKey),
    decrypt: (text) => openWith(cookieKeys, text),
    formToken: (sessionId) => macOf(formKey, sessionId).toString('base64url'),
    isFormToken: (sessionId, token) => {
      const given = Buffer.from(token, 'base64url')
      const macs = formKeys.map((key) => macOf(key, sessionId))
      return macs.filter((mac) => mac.length === given.length && timingSafeEqual(mac, given)).length > 0
    },
  }
}

function deriveKey(secret: Buffer, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', purpose, KEY_BYTES))
}

async function openWith(keys: readonly Uint8Array[], text: string): Promise<Session | undefined> {
  for (const key of keys) {
    const opened = await compactDecrypt(text, key, {
      keyManagementAlgorithms: [ENCRYPTION.alg],
      contentEncryptionAlgorithms: [ENCRYPTION.enc],
    }).catch(() => undefined)
    if (opened === undefined) continue
    return Session.safeParse(JSON.parse(new TextDecoder().decode(opened.plaintext))).data
  }
  return undefined
}
