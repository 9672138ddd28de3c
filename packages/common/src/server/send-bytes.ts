import fp from 'fastify-plugin'

/** Shorter texts are written at once. */
const LONG = 4_096

/**
 * Turns long texts into bytes before they are sent. While a client does not take an answer, Node keeps three bytes for each
 * character of a text, besides the text; and the bounds of connections count one.
 */
export const sendBytes = fp(
  async (app) => {
    app.addHook('onSend', (_request, _reply, payload, done) => {
      done(null, typeof payload === 'string' && payload.length > LONG ? Buffer.from(payload) : payload)
    })
  },
  { name: 'send-bytes' },
)
