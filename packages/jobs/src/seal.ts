/** The payload of a sealed task as the table of the queue has it. */
export interface SealedPayload {
  readonly sealed: string
}

/** Keys of 32 bytes. The first one seals, all of them open. */
export type SealKeys = readonly [Uint8Array, ...Uint8Array[]]

/** Encrypts a payload: JWE, direct encryption with A256GCM (RFC 7516, RFC 7518 section 5.3). */
export async function sealPayload([key]: SealKeys, payload: object): Promise<SealedPayload> {
  const { CompactEncrypt } = await import('jose')
  const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(key)
  return { sealed }
}

/** Whether the data of a job is a sealed payload. */
export function isSealed(data: object): data is SealedPayload {
  return 'sealed' in data && typeof data.sealed === 'string'
}

/** Decrypts a payload to the JSON that `sealPayload` was given. @throws Error when no key fits or the text was altered */
export async function openPayload(keys: SealKeys, { sealed }: SealedPayload): Promise<unknown> {
  const { compactDecrypt } = await import('jose')
  const opened = await Promise.any(
    keys.map((key) =>
      compactDecrypt(sealed, key, { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }),
    ),
  ).catch((error: AggregateError) => {
    throw error.errors[0]
  })
  return JSON.parse(new TextDecoder().decode(opened.plaintext))
}
