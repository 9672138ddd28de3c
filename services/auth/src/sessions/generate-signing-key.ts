import { generateKeyPair, type JsonWebKey, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { PrivateJwk, SigningAlgorithm } from './signing-key.ts'

const newKeyPair = promisify(generateKeyPair)

const MODULUS_BITS = 2_048
const SECRET_BYTES = 32

/** Makes a new private key for an algorithm. */
export async function generateSigningKey(alg: SigningAlgorithm, kid: string): Promise<PrivateJwk> {
  return { ...(await newMembers(alg)), kid, alg }
}

async function newMembers(alg: SigningAlgorithm): Promise<JsonWebKey> {
  switch (alg) {
    case 'HS256':
      return { kty: 'oct', k: randomBytes(SECRET_BYTES).toString('base64url') }
    case 'RS256':
    case 'RS512':
      return (await newKeyPair('rsa', { modulusLength: MODULUS_BITS })).privateKey.export({ format: 'jwk' })
    case 'ES256':
      return (await newKeyPair('ec', { namedCurve: 'P-256' })).privateKey.export({ format: 'jwk' })
    case 'ES512':
      return (await newKeyPair('ec', { namedCurve: 'P-521' })).privateKey.export({ format: 'jwk' })
    case 'EdDSA':
      return (await newKeyPair('ed25519', {})).privateKey.export({ format: 'jwk' })
  }
}
