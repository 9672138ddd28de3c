import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { CaptchaConfig } from '../config/security.ts'
import type { AuthDeps } from '../deps.ts'
import { captchaFailed, captchaRefused, captchaUnreachable } from '../external-errors.ts'
import { checkAdmin } from '../sessions/admin.ts'
import { findBearer } from '../sessions/token-user.ts'

type CaptchaDeps = Pick<AuthDeps, 'config' | 'pools' | 'now' | 'signingKeys' | 'outbound' | 'hooks'>

/** Requires a captcha on routes with `captcha: true` in their config, before body validation (reference: Captcha). */
export const captcha = fp<{ readonly deps: CaptchaDeps }>(
  async (app: FastifyInstance, { deps }) => {
    app.addHook('preValidation', async (request) => {
      if (request.routeOptions.config.captcha) await requireCaptcha(deps, request)
    })
  },
  { name: 'captcha' },
)

/** Requires a captcha token in the body, unless captcha is off or an admin sends the request. */
export async function requireCaptcha(deps: CaptchaDeps, request: FastifyRequest): Promise<void> {
  const config = deps.config.security.captcha
  if (!config || (await hasAdminBearer(deps, request))) return
  await verifyCaptcha(deps.outbound, config, readToken(request.body), request.clientAddress.ip)
}

/** Checks the user too, because the claims may belong to a former admin. */
async function hasAdminBearer(
  deps: Pick<AuthDeps, 'config' | 'pools' | 'now' | 'signingKeys' | 'hooks'>,
  { headers }: FastifyRequest,
): Promise<boolean> {
  const claims = findBearer(deps, headers.authorization)
  if (claims === undefined) return false
  try {
    await checkAdmin(deps, claims)
    return true
  } catch (error) {
    if (error instanceof HttpError && error.status === 403) return false
    throw error
  }
}

function readToken(body: unknown): string | undefined {
  const token =
    readMember(readMember(body, 'gotrue_meta_security'), 'captcha_token') ?? readMember(body, 'captcha_token')
  return typeof token === 'string' ? token : undefined
}

function readMember(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route requires a captcha if the setting is on. */
    captcha?: boolean
  }
}

const Answer = z.object({ success: z.boolean(), 'error-codes': z.array(z.string()).optional() })

/**
 * Verifies a captcha token with its provider (reference: Captcha). A provider accepts a token only once, so the request is not
 * retried.
 * @param ip the address of the client
 */
export async function verifyCaptcha(
  outbound: Outbound,
  config: CaptchaConfig,
  token: string | undefined,
  ip: string,
): Promise<void> {
  if (!token) throw captchaFailed()
  const form = { secret: config.secret, response: token, remoteip: ip }
  const answer = await askCaptchaProvider(outbound, config, form).catch((cause: unknown) => {
    throw captchaUnreachable({ cause })
  })
  if (answer.success) return
  const codes = answer['error-codes'] ?? []
  throw captchaRefused({ codes })
}

async function askCaptchaProvider(
  outbound: Outbound,
  { url, timeoutMs }: CaptchaConfig,
  form: Readonly<Record<string, string>>,
): Promise<z.output<typeof Answer>> {
  const { status, body } = await outbound.send({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
    timeoutMs,
    origin: 'operator',
  })
  // Providers answer with 200 or 400. The body of any other response is not a result.
  if (status !== 200 && status !== 400) throw new Error(`the captcha provider answered ${status}`)
  return Answer.parse(JSON.parse(body))
}
