import { createCipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from 'node:crypto'
import type { Argon2 } from './argon2.ts'
import type { PasswordForm, ScryptForm } from './password-form.ts'

const FIREBASE_KEY_BYTES = 32

/** Whether a password is that of a stored hash. Keeps the thread for as long as it takes: it is for a hash thread. */
export async function verifyPassword(argon2: Argon2, form: PasswordForm, password: string): Promise<boolean> {
  switch (form.alg) {
    case 'argon2id':
    case 'argon2i':
      return argon2.verify(form.hash, password)
    case 'bcrypt': {
      // Loaded when the first imported user signs in: most services never need it.
      const { verifySync } = await import('@node-rs/bcrypt')
      return verifySync(password, form.hash)
    }
    case 'pbkdf2':
      return timingSafeEqual(pbkdf2Sync(password, form.salt, form.iterations, form.key.length, form.digest), form.key)
    case 'scrypt':
      return timingSafeEqual(scryptKey(form, password, form.key.length), form.key)
    case 'firebase-scrypt':
      return timingSafeEqual(keyStream(scryptKey(form, password, FIREBASE_KEY_BYTES), form.key.length), form.key)
  }
}

/** What AES-256 in counter mode adds to a text: Firebase's hash is its project's signer key, encrypted so. */
function keyStream(key: Buffer, length: number): Buffer {
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length))
}

function scryptKey(form: ScryptForm, password: string, length: number): Buffer {
  const { cost, blockSize, parallelization } = form
  // Node refuses what may need more than 32 MiB unless it is told otherwise; the form has been bounded when it was read.
  const maxmem = 128 * blockSize * (cost + parallelization + 2)
  return scryptSync(password, form.salt, length, { cost, blockSize, parallelization, maxmem })
}
