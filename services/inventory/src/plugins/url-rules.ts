import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { badRequest, methodNotAllowed, notFound, notImplemented, uriTooLong } from '../errors.ts'
import { findAllowedMethods, isKnownMethod, listAllMethods, type RoutePattern } from '../http/allowed-methods.ts'
import { readRequestTarget } from '../http/request-target.ts'

/**
 * Judges the URL of every request before anything is read: 400 and 414 for what is no path, and where no route matches 501,
 * 404, 405 with `Allow`, or the answer to OPTIONS. Register before the routes, which it collects.
 * @see contract of the framework, section 3
 */
export const urlRules = fp(
  async (app) => {
    const routes: RoutePattern[] = []
    app.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) routes.push({ method: one, url })
    })
    app.addHook('onRequest', (request, reply, done) => {
      // A plain path that a route has taken needs no further look: the common case costs one test.
      if (!request.is404 && isPlain(request.url)) return done()
      const verdict = judge(routes, request)
      return typeof verdict === 'string' ? void reply.code(204).header('Allow', verdict).send() : done(verdict)
    })
  },
  { name: 'url-rules' },
)

/** Letters, digits and slashes, perhaps with a query that holds no escape: nothing to decode or to refuse. */
function isPlain(url: string): boolean {
  return /^\/[\w/-]{0,512}(?:\?[\w=&.-]{0,512})?$/.test(url)
}

/** An error; or the methods that an OPTIONS request asks for; or undefined, and the route goes on. */
function judge(routes: readonly RoutePattern[], request: FastifyRequest): HttpError | string | undefined {
  const { method } = request
  const target = readRequestTarget(method, request.raw.url ?? '')
  if (target.verdict === 'malformed') return badRequest({ message: 'The URL is malformed.' })
  if (target.verdict === 'too-long') return uriTooLong()
  if (!request.is404) return undefined
  if (!isKnownMethod(method)) return notImplemented()
  const allowed = target.verdict === 'server' ? listAllMethods(routes) : findAllowedMethods(routes, target.parts)
  if (allowed === undefined) return notFound()
  const allow = allowed.join(', ')
  return method === 'OPTIONS' ? allow : methodNotAllowed({ headers: { Allow: allow } })
}
