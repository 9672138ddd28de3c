import { renderSVG } from 'uqr'
import { z } from 'zod'
import type { Factor } from './factor.ts'
import type { EnrolledType } from './factor-switches.ts'
import { totpUri } from './totp.ts'

/** A factor right after its enrolment. Its secret is shown this once (reference: Enrolment). */
export const EnrolledFactorView = z.object({
  id: z.guid(),
  type: z.enum(['totp', 'phone', 'webauthn']),
  friendly_name: z.string(),
  totp: z
    .object({
      qr_code: z.string().meta({ description: 'The secret as a QR code: an SVG' }),
      secret: z.string().meta({ description: 'The secret of the authenticator app, in base32' }),
      uri: z.string(),
    })
    .optional(),
  phone: z.string().optional(),
})

/** The members of a factor that are shown right after its enrolment. `totpSecret` is base32; undefined for other types. */
export interface EnrolledFactorParts {
  readonly id: string
  readonly type: EnrolledType
  readonly friendlyName: string
  readonly phone: string | undefined
  readonly issuer: string
  readonly account: string
  readonly totpSecret: string | undefined
}

/** The form in which clients see a factor right after its enrolment. A TOTP factor has its secret, also as a QR code. */
export function viewEnrolledFactor(factor: EnrolledFactorParts): z.output<typeof EnrolledFactorView> {
  const { id, type, friendlyName, phone, totpSecret, issuer, account } = factor
  const view = { id, type, friendly_name: friendlyName }
  if (totpSecret === undefined) return phone === undefined ? view : { ...view, phone }
  const uri = totpUri({ issuer, account, secret: totpSecret })
  return { ...view, totp: { qr_code: qrCodeSvg(uri), secret: totpSecret, uri } }
}

/** The white border around the code, in modules, as the standard requires. */
const BORDER = 4
const PIXELS_PER_MODULE = 5

/**
 * A QR code as an SVG, with as much error correction as fits its size. Clients put the SVG into a data URI unescaped, so it must
 * not contain `#`. @param text at most 2,953 bytes
 */
function qrCodeSvg(text: string): string {
  return renderSVG(text, { ecc: 'L', boostEcc: true, border: BORDER, pixelSize: PIXELS_PER_MODULE })
}

/** A set of recovery codes with its codes, which are shown this once (reference: Recovery codes). */
export const RecoveryCodesView = z.object({
  id: z.guid(),
  type: z.literal('recovery_code'),
  friendly_name: z.string(),
  total: z.int(),
  codes: z.array(z.string()),
})

/** The form in which clients see new recovery codes, in the clear. */
export function viewRecoveryCodes({
  factor,
  codes,
}: {
  readonly factor: Factor
  readonly codes: readonly string[]
}): z.output<typeof RecoveryCodesView> {
  const { id, friendlyName } = factor
  return { id, type: 'recovery_code', friendly_name: friendlyName ?? '', total: codes.length, codes: [...codes] }
}
