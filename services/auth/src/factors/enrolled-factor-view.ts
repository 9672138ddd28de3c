import { z } from 'zod'
import type { EnrolledType } from './factor-switches.ts'
import { qrCodeSvg } from './qr-code.ts'
import { totpUri } from './totp.ts'

/** A factor that was just enrolled, as its owner sees it this once (reference: Enrolment). */
export const enrolledFactorSchema = z.object({
  id: z.guid(),
  type: z.enum(['totp', 'phone', 'webauthn']),
  friendly_name: z.string(),
  totp: z
    .object({
      qr_code: z.string().meta({ description: 'an SVG' }),
      secret: z.string().meta({ description: 'base32' }),
      uri: z.string(),
    })
    .optional(),
  phone: z.string().optional(),
})

export interface EnrolledFactorParts {
  readonly id: string
  readonly type: EnrolledType
  readonly friendlyName: string
  readonly phone: string | undefined
  readonly issuer: string
  readonly account: string
  readonly totpSecret: string | undefined
}

export function toEnrolledFactorView(factor: EnrolledFactorParts): z.output<typeof enrolledFactorSchema> {
  const { id, type, friendlyName, phone, totpSecret, issuer, account } = factor
  const view = { id, type, friendly_name: friendlyName }
  if (totpSecret === undefined) return phone === undefined ? view : { ...view, phone }
  const uri = totpUri({ issuer, account, secret: totpSecret })
  return { ...view, totp: { qr_code: qrCodeSvg(uri), secret: totpSecret, uri } }
}
