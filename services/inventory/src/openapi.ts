import { Application, type OpenApiDocument } from '@trestle/endpoints/endpoints.ts'
import { ErrorView } from './error-vocabulary.ts'
import { serviceVersion } from './version.ts'

/** Where the controllers are, and all else that decides the document. */
export const endpointOptions = {
  controllerPrefix: new URL('controllers/', import.meta.url),
  errorSchema: ErrorView,
  info: {
    title: 'Trestle inventory',
    version: serviceVersion,
    description: 'Products with free-form attributes, and the users who keep them.',
  },
  signatures: false,
  strict: true,
} as const

/** The OpenAPI document of the service, made from its controllers alone: no database and no listener is opened. */
export async function buildOpenApi(): Promise<OpenApiDocument> {
  const endpoints = await new Application(endpointOptions).ready()
  return endpoints.openapi()
}
