/** A payload as it lies in the queue's table when its task is sealed. */
export interface SealedPayload {
  readonly sealed: string
}

/** Encrypts a payload. @param key 32 bytes. JWE, direct encryption with A256GCM (RFC 7516, RFC 7518 section 5.3). */
export async function sealPayload(key: Uint8Array, payload: object): Promise<SealedPayload> {
  const { CompactEncrypt } = await loadJose()
  const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(key)
  return { sealed }
}

/** Decrypts a payload. @throws when the key is another one or the text was altered */
export async function openPayload(key: Uint8Array, { sealed }: SealedPayload): Promise<unknown> {
  const { compactDecrypt } = await loadJose()
  const { plaintext } = await compactDecrypt(sealed, key, {
    keyManagementAlgorithms: ['dir'],
    contentEncryptionAlgorithms: ['A256GCM'],
  })
  return JSON.parse(new TextDecoder().decode(plaintext))
}

/** With the first sealed payload: no start waits for its 46 files. */
function loadJose() {
  return import('jose')
}
