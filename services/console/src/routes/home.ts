import { html } from '@trestle/common/documents/html.ts'
import type { FastifyPluginAsync } from 'fastify'
import { sendPage } from '../plugins/pages.ts'

/** The first page. */
export const homeRoutes: FastifyPluginAsync = async (app) => {
  app.get('/', (request, reply) =>
    sendPage(request, reply, { title: 'Overview', section: 'overview', main: html`<h1>Overview</h1>` }),
  )
}
