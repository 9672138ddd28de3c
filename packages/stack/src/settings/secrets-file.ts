import { createECDH, createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

const KEY_BYTES = 32
/** The number of base64url characters, with six bits each. */
const PASSWORD_LENGTH = 22

/** Generates the secrets of the development stack. */
const makers = {
  /** The HS256 key for the tokens of services, and for access tokens while the database has no other key. */
  AUTH_JWT_SECRET: (bytes: Buffer) => bytes.toString('base64url'),
  /** The ES256 key for access tokens. Other services verify the tokens with the published public key. */
  AUTH_JWT_KEYS: toSigningKey,
  /** The key that encrypts secrets in the auth database, such as signing keys. */
  AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: (bytes: Buffer) => bytes.toString('base64url'),
  /** The key of the MACs by which API keys are looked up. */
  PAYMENTS_PEPPER: (bytes: Buffer) => bytes.toString('base64'),
  /** The keys for card numbers, as `id:base64`. The first key encrypts, and all keys decrypt. */
  PAYMENTS_VAULT_KEYS: (bytes: Buffer) => `1:${bytes.toString('base64')}`,
  CONSOLE_SECRET: (bytes: Buffer) => bytes.toString('base64'),
  /** The secret from which the operator keys of the console are derived. */
  TRESTLE_OPERATOR_KEY: (bytes: Buffer) => bytes.toString('base64url'),
  TRESTLE_OPERATOR_PASSWORD: (bytes: Buffer) => bytes.toString('base64url').slice(0, PASSWORD_LENGTH),
  TRESTLE_DATABASE_PASSWORD: (bytes: Buffer) => bytes.toString('base64url'),
}

export type Secrets = Readonly<Record<keyof typeof makers, string>>

/**
 * Reads the secrets from the file. The first start creates the file. Later starts only add missing secrets, so that stored data
 * can still be read. Only the owner may read the file.
 *
 * @param random returns 32 new random bytes at each call
 */
export function loadSecrets(file: string, random: () => Buffer = () => randomBytes(KEY_BYTES)): Secrets {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : header
  const known = parseEnv(text)
  const secretOf = (name: keyof typeof makers) => known[name] || makers[name](random())
  const secrets: Secrets = {
    AUTH_JWT_SECRET: secretOf('AUTH_JWT_SECRET'),
    AUTH_JWT_KEYS: secretOf('AUTH_JWT_KEYS'),
    AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: secretOf('AUTH_SECURITY_DATABASE_ENCRYPTION_KEY'),
    PAYMENTS_PEPPER: secretOf('PAYMENTS_PEPPER'),
    PAYMENTS_VAULT_KEYS: secretOf('PAYMENTS_VAULT_KEYS'),
    CONSOLE_SECRET: secretOf('CONSOLE_SECRET'),
    TRESTLE_OPERATOR_KEY: secretOf('TRESTLE_OPERATOR_KEY'),
    TRESTLE_OPERATOR_PASSWORD: secretOf('TRESTLE_OPERATOR_PASSWORD'),
    TRESTLE_DATABASE_PASSWORD: secretOf('TRESTLE_DATABASE_PASSWORD'),
  }
  const missing = Object.entries(secrets).filter(([name]) => !known[name])
  if (missing.length > 0) replaceFile(file, text + missing.map(writeLine).join(''))
  chmodSync(file, 0o600)
  return secrets
}

/** Returns a list with one private JWK in the format of the auth service. */
function toSigningKey(bytes: Buffer): string {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(bytes)
  // The public key consists of the byte 4 and two numbers of 32 bytes.
  const point = pair.getPublicKey()
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  const kid = createHash('sha256').update(point).digest('base64url').slice(0, 16)
  const d = bytes.toString('base64url')
  return JSON.stringify([{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', key_ops: ['sign'], kid, x, y, d }])
}

/** Formats a line. Values of JSON contain double quotes and get single quotes. */
function writeLine([name, value]: readonly [string, string]): string {
  const quote = value.includes('"') ? "'" : '"'
  return `${name}=${quote}${value}${quote}\n`
}

const header = `# Secrets of this checkout's development stack, made by its first start.
# Keep the file as long as the data beside it. Deployments have secrets of their own.
`

/** Replaces the file atomically. After an interrupted start, the file has the old or the new content. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
}
