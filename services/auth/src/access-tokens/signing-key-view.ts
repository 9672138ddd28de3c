import { z } from 'zod'
import type { SigningKeyStatus } from './signing-key-repository.ts'

/** A signing key as operators see it, without its private half (console reference: Routes of auth). */
export const SigningKeyView = z
  .object({
    kid: z.string(),
    algorithm: z.string().meta({ example: 'ES256' }),
    state: z
      .enum(['next', 'active', 'retired', 'over'])
      .meta({ description: 'next: waits. active: signs. retired: verifies what it has signed. over: does neither' }),
    created_at: z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' }),
    public: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'The public JWK; null for a symmetric key' }),
  })
  .meta({ id: 'SigningKey' })

/** The form in which operators see a signing key. */
export function viewSigningKey({
  kid,
  alg,
  state,
  createdAt,
  verifies,
  publicJwk,
}: SigningKeyStatus): z.output<typeof SigningKeyView> {
  return { kid, algorithm: alg, state: verifies ? state : 'over', created_at: createdAt, public: publicJwk }
}
