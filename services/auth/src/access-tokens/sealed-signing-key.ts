import { type EncryptionKeys, openSecret, type Sealing, sealSecret } from '../secrets/sealed-secret.ts'
import { importSigningKey, PrivateJwk, type SigningKey } from './signing-key.ts'
import type { NewSigningKey, StoredSigningKey } from './signing-key-repository.ts'

/** Seals a private key for its row. @throws Error when the key cannot sign */
export function sealSigningKey(sealing: Sealing, jwk: PrivateJwk): NewSigningKey {
  const { alg, publicJwk } = importSigningKey(jwk)
  const text = JSON.stringify({ ...jwk, alg })
  return { kid: jwk.kid, alg, sealed: sealSecret(sealing, jwk.kid, text), publicJwk }
}

/** Opens the key of a row. @throws Error that names the settings, one of which must be wrong */
export function openSigningKey(
  encryptionKeys: EncryptionKeys,
  { kid, sealed }: Pick<StoredSigningKey, 'kid' | 'sealed'>,
): SigningKey {
  try {
    return importSigningKey(PrivateJwk.parse(JSON.parse(openSecret(encryptionKeys, kid, sealed))))
  } catch (cause) {
    throw new Error(
      `signing key "${kid}" cannot be opened: all processes on a database need the same AUTH_SECURITY_DATABASE_ENCRYPTION_KEY, or without it the same AUTH_JWT_SECRET; a key of before belongs into AUTH_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS`,
      { cause },
    )
  }
}
