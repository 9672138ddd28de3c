import type { FastifyInstance } from 'fastify'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** The methods that some route takes at the path of `url`, for the header Allow. Empty when the path is unknown. */
export function allowedMethods(app: FastifyInstance, url: string): readonly string[] {
  const path = url.split('?', 1)[0] ?? url
  return METHODS.filter((method) => app.findRoute({ method, url: path }) !== null)
}
