import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { describePorts, portFrom } from './ports.ts'

describe('portFrom', () => {
  it.each([
    [{ AUTH_API_PORT: '1' }, 1],
    [{ AUTH_API_PORT: '65535' }, 65_535],
    [{ AUTH_API_PORT: '' }, 8081],
    [{}, 8081],
    [{ AUTH_PORT: '9000' }, 9000],
    [{ AUTH_API_PORT: '9001', AUTH_PORT: 'nine' }, 9001],
    [{ TRESTLE_PORT_BASE: '' }, 8081],
    [{ TRESTLE_PORT_BASE: '20000' }, 20_001],
    [{ TRESTLE_PORT_BASE: '65524' }, 65_525],
    [{ TRESTLE_PORT_BASE: '20000', AUTH_API_PORT: '9000' }, 9000],
    [{ TRESTLE_PORT_BASE: '20000', AUTH_PORT: '9000' }, 9000],
  ])('listens with the settings %j on port %d', (env, port) => {
    expect(portFrom(env, 'AUTH_API_PORT', 'AUTH_PORT')).toBe(port)
  })

  it.each(['0', '65536', 'x', '80.5', '-1', '0x50'])('refuses %j', (text) => {
    expect(() => portFrom({ AUTH_API_PORT: text }, 'AUTH_API_PORT')).toThrow(
      new StackFailure([`config: AUTH_API_PORT must be a port from 1 to 65535 (got "${text}")`]),
    )
  })

  it('refuses a base beyond which not all ports exist', () => {
    expect(() => portFrom({ TRESTLE_PORT_BASE: '65525' }, 'AUTH_API_PORT')).toThrow(
      new StackFailure(['config: TRESTLE_PORT_BASE must be a port from 1 to 65524 (got "65525")']),
    )
  })
})

describe('describePorts', () => {
  it('says what moves all ports, and where each one goes', () => {
    expect(describePorts()).toBe(`
Ports:
  TRESTLE_PORT_BASE in the environment or .env moves all of them.
  A setting of a single port wins.

  Setting                                  Usual  With TRESTLE_PORT_BASE=20000
  INVENTORY_PORT                            8080  20000
  AUTH_API_PORT                             8081  20001
  PAYMENTS_PORT                             8082  20002
  TRESTLE_HOME_PORT                         8083  20003
  MAIL_WEB_PORT                             8025  20004
  MAIL_SMTP_PORT                            1025  20005
  TRESTLE_DATABASE_PORT                    15432  20006
  AUTH_OTEL_EXPORTER_PROMETHEUS_PORT        9100  20007
  PAYMENTS_OTEL_EXPORTER_PROMETHEUS_PORT    9101  20008
  INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT   9102  20009
  CONSOLE_PORT                              8084  20010
  CONSOLE_OTEL_EXPORTER_PROMETHEUS_PORT     9103  20011`)
  })
})
