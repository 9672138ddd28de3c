import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { verifyCaptcha } from '../captcha/verify-captcha.ts'
import type { AuthDeps } from '../deps.ts'
import { isAdmin } from '../sessions/caller.ts'
import { findBearer } from '../sessions/find-bearer.ts'

type Deps = Pick<AuthDeps, 'config' | 'now' | 'outbound' | 'signingKeys'>

/** Asks for a captcha before the body of routes with `captcha: true` in their config is looked at (contract 3.1). */
export const captcha = fp<{ readonly deps: Deps }>(
  async (app: FastifyInstance, { deps }) => {
    app.addHook('preValidation', async (request) => {
      if (request.routeOptions.config.captcha) await requireCaptcha(deps, request)
    })
  },
  { name: 'captcha' },
)

/** @throws captchaFailed unless the body has a good token, captcha is off, or the request carries an admin's bearer */
export async function requireCaptcha(deps: Deps, request: FastifyRequest): Promise<void> {
  const config = deps.config.security.captcha
  if (!config || hasAdminBearer(deps, request)) return
  await verifyCaptcha(deps.outbound, config, readToken(request.body), request.clientAddress.address)
}

function hasAdminBearer(deps: Deps, { headers }: FastifyRequest): boolean {
  const claims = findBearer(deps, headers.authorization)
  return claims !== undefined && isAdmin(claims, deps.config.jwt.adminRoles)
}

function readToken(body: unknown): string | undefined {
  const token = member(member(body, 'gotrue_meta_security'), 'captcha_token') ?? member(body, 'captcha_token')
  return typeof token === 'string' ? token : undefined
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route asks for a captcha where the setting is on. */
    captcha?: boolean
  }
}
