import { createECDH, createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

const KEY_BYTES = 32

/** Every secret that the stack makes for development, and how. */
const makers = {
  /** HS256 key of tokens of services; of access tokens too where the database has no other key. */
  AUTH_JWT_SECRET: (bytes: Buffer) => bytes.toString('base64url'),
  /** ES256 key of the access tokens: other services verify it with the public key that is published. */
  AUTH_JWT_KEYS: makeSigningKey,
  /** Seals what the auth service keeps, for example signing keys. */
  AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: (bytes: Buffer) => bytes.toString('base64url'),
  /** Key of the MACs by which app keys are found. */
  PAYMENTS_PEPPER: (bytes: Buffer) => bytes.toString('base64'),
  /** Seals card numbers; `id:base64`, the first seals, all open. */
  PAYMENTS_VAULT_KEYS: (bytes: Buffer) => `1:${bytes.toString('base64')}`,
  /** Of the embedded PostgreSQL. */
  TRESTLE_DATABASE_PASSWORD: (bytes: Buffer) => bytes.toString('base64url'),
}

/** The secrets by the name of their setting. */
export type Secrets = Readonly<Record<keyof typeof makers, string>>

/**
 * The secrets of the file, which is made at the first start and from then on only added to: data written under them
 * must stay readable. Readable by its owner alone.
 *
 * @param random gives 32 random bytes, new ones at each call.
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
    TRESTLE_DATABASE_PASSWORD: secretOf('TRESTLE_DATABASE_PASSWORD'),
  }
  const missing = Object.entries(secrets).filter(([name]) => !known[name])
  if (missing.length > 0) replaceFile(file, text + missing.map(writeLine).join(''))
  chmodSync(file, 0o600)
  return secrets
}

/** A list of one private JWK, as the auth service takes it. */
function makeSigningKey(bytes: Buffer): string {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(bytes)
  // The public key is the byte 4 and two numbers of 32 bytes.
  const point = pair.getPublicKey()
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  const kid = createHash('sha256').update(point).digest('base64url').slice(0, 16)
  const d = bytes.toString('base64url')
  return JSON.stringify([{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', key_ops: ['sign'], kid, x, y, d }])
}

/** JSON has double quotes of its own. */
function writeLine([name, value]: readonly [string, string]): string {
  const quote = value.includes('"') ? "'" : '"'
  return `${name}=${quote}${value}${quote}\n`
}

const header = `# Secrets of this checkout's development stack, made by its first start.
# Keep the file as long as the data beside it. Deployments have secrets of their own.
`

/** In one step: a start that is cut short leaves the old file or the new one, never half of it. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
}
