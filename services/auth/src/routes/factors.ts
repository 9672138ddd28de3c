import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AuthConfig } from '../config.ts'
import { errorAnswers } from '../error-body.ts'
import { factorPhoneMissing, factorTypeUnsupported, issuerTooLong } from '../factor-errors.ts'
import { EnrolledFactorView, viewEnrolledFactor } from '../factors/enrolment.ts'
import { friendlyNameField, requireFriendlyName } from '../factors/factor.ts'
import { noStore } from '../plugins/answers.ts'
import { authenticate } from '../plugins/authenticate.ts'
import { requireId } from '../records/ids.ts'
import { idField, needs, PHONE, withValues } from '../requests/fields.ts'
import { enrolFactor, type NewFactor, unenrolFactor } from '../use-cases/enrol-factor.ts'

const ISSUER_LENGTH_MAX = 64

const FactorPath = z.object({ factorId: idField })
const EnrolBody = z
  .object({
    factor_type: z
      .string()
      .optional()
      .meta({ enum: ['totp', 'phone', 'webauthn'], description: 'The type of the factor' }),
    friendly_name: friendlyNameField,
    issuer: z.string().optional().meta({
      maxLength: ISSUER_LENGTH_MAX,
      description:
        'The name of the service in an authenticator app; the host of AUTH_SITE_URL by default. A dash takes the place of a colon',
    }),
    phone: z
      .string()
      .optional()
      .meta({ example: '+4520123456', description: 'The number to which a factor of the type phone gets codes' }),
  })
  .meta({
    ...needs('factor_type'),
    anyOf: [
      withValues('factor_type', ['totp', 'webauthn']),
      withValues('factor_type', ['phone'], { required: ['phone'], properties: { phone: PHONE } }),
    ],
  })

export const factorsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.post(
    '/factors',
    {
      schema: {
        operationId: 'enrolFactor',
        tags: ['Second factors'],
        summary: 'Enrol a second factor',
        description: 'The factor counts after its first verification.',
        body: EnrolBody,
        response: { 200: EnrolledFactorView, ...errorAnswers(400, 401, 403, 413, 422) },
      },
    },
    async (request) => {
      const { caller, clientAddress, body } = request
      const wanted = parseFactor(body)
      const issuer = readIssuer(deps, body.issuer)
      const enrolled = await enrolFactor(deps, { caller, wanted, ip: clientAddress.ip })
      const phone = deps.config.compatibility.showEnrolledPhoneAsSent ? wanted.phone : enrolled.phone
      return viewEnrolledFactor({ ...wanted, ...enrolled, phone, issuer })
    },
  )

  app.delete(
    '/factors/:factorId',
    {
      schema: {
        operationId: 'unenrolFactor',
        tags: ['Second factors'],
        summary: 'Unenrol a second factor',
        description: 'A verified factor needs a session of aal2.',
        params: FactorPath,
        response: { 200: z.object({ id: z.guid() }), ...errorAnswers(400, 401, 403, 404, 413, 422) },
      },
    },
    async ({ caller, clientAddress, params }) => {
      const factorId = requireId('factor_id', params.factorId)
      return { id: await unenrolFactor(deps, { caller, which: { factorId }, ip: clientAddress.ip }) }
    },
  )
}

function parseFactor(body: z.output<typeof EnrolBody>): NewFactor {
  const { factor_type: type, phone } = body
  if (type !== 'totp' && type !== 'phone' && type !== 'webauthn') throw factorTypeUnsupported()
  const friendlyName = requireFriendlyName(body.friendly_name ?? '')
  if (type !== 'phone') return { type, friendlyName, phone: undefined }
  if (!phone) throw factorPhoneMissing()
  return { type, friendlyName, phone }
}

/** Limits the issuer to a length that fits into a QR code. */
function readIssuer({ config }: { readonly config: AuthConfig }, issuer: string | undefined): string {
  // The default is the host name, without the port.
  if (!issuer) return new URL(config.signup.redirects.siteUrl).hostname
  if ([...issuer].length <= ISSUER_LENGTH_MAX) return issuer
  throw issuerTooLong({ max: ISSUER_LENGTH_MAX })
}
