import type { FastifySerializerCompiler } from 'fastify'

/**
 * Writes an answer without the filter of its response schema, for routes whose views are built completely by this service. Their
 * schemas serve the API document only. Leaves undefined members out.
 */
export const plainJson: FastifySerializerCompiler<unknown> = () => (data) => JSON.stringify(data)
