import { databaseUrl, duration, oneOf, port, secret, text, url } from '../../packages/common/src/config/setting.ts'
import { group } from '../../packages/common/src/config/setting-description.ts'
import { LOG_LEVELS } from '../../packages/common/src/telemetry/logger.ts'

/** What `npm start`, `npm test` and Docker Compose read beside the settings of the services. */
export const startSettings = {
  ...group('npm start, npm test, and all services', {
    DATABASE_URL: databaseUrl()
      .optional()
      .describe(
        'PostgreSQL of all services that have none of their own, such as `postgres://localhost:5432/trestle`. Without it `npm start` brings one along.',
      ),
    TEST_DATABASE_URL: databaseUrl()
      .optional()
      .describe(
        'PostgreSQL of the tests, where databases may be made and dropped. Without it the tests bring one along.',
      ),
    TEST_POOLER_URL: databaseUrl()
      .optional()
      .describe('A pooler in transaction mode before that PostgreSQL. What is tested goes through it.'),
    MAIL_SMTP_PORT: port().prefault('1025').describe('Port of the mail catcher for SMTP.'),
    MAIL_WEB_PORT: port().prefault('8025').describe("Port of the mail catcher's web page."),
    TRESTLE_DATABASE_PORT: port().prefault('15432').describe('Port of the PostgreSQL that `npm start` brings along.'),
    TRESTLE_DATA_DIRECTORY: text()
      .prefault('.data')
      .describe('Folder of `npm start`: data, logs, development secrets.'),
    TRESTLE_STATE_DIRECTORY: text()
      .prefault('/var/lib/trestle')
      .describe('As root: where that PostgreSQL is kept when the user that it runs as cannot reach the checkout.'),
    LOG_LEVEL: oneOf(...LOG_LEVELS)
      .prefault('info')
      .describe('The least severe messages that are logged, by each service that has no level of its own.'),
    OTEL_EXPORTER_OTLP_ENDPOINT: url()
      .prefault('http://localhost:4318')
      .describe(
        'Where traces, and metrics that are pushed, go by OTLP. 4317 is the usual port for grpc. In this file this setting and the two below count under `npm start` only; a service by itself reads them from the environment.',
      ),
    OTEL_EXPORTER_OTLP_HEADERS: secret()
      .optional()
      .describe('Headers that go with traces and metrics, as `name=value,name=value`.'),
    OTEL_RESOURCE_ATTRIBUTES: text()
      .optional()
      .describe('What traces and metrics tell of the process beside its name and version, as `name=value,name=value`.'),
  }),
  ...group(
    {
      title: 'docker compose',
      about:
        'It reads this file too, but passes on only the settings that docker-compose.yml names. Any other, such as INVENTORY_AUTH_ENABLED, belongs into a docker-compose.override.yml.',
    },
    {
      POSTGRES_PASSWORD: secret()
        .prefault('trestle')
        .describe(
          'Password of its PostgreSQL, used when that is made. Letters and digits only: it becomes part of a URL.',
        ),
      ...published('AUTH', '8081'),
      ...published('PAYMENTS', '8082'),
      ...published('INVENTORY', '8080'),
      ...published('MAIL', '8025'),
      SHUTDOWN_DELAY: duration()
        .prefault('2s')
        .describe(
          'How long the services still take requests after SIGTERM, so that a load balancer notices. Up to 10 s longer while requests still come. Above 4 s, raise stop_grace_period too.',
        ),
      ...publishedBalanced('AUTH', '9081'),
      ...publishedBalanced('PAYMENTS', '9082'),
      ...publishedBalanced('INVENTORY', '9080'),
      PUBLISH_PROMETHEUS: text()
        .prefault('127.0.0.1:9090')
        .describe('Profile observability: where Prometheus is published.'),
      PUBLISH_GRAFANA: text().prefault('127.0.0.1:3001').describe('Profile observability: where Grafana is published.'),
      GRAFANA_PASSWORD: secret()
        .prefault('trestle')
        .describe("Profile observability: password of Grafana's user admin."),
    },
  ),
} as const

function published(name: string, portNumber: string) {
  return {
    [`PUBLISH_${name}`]: text()
      .prefault(`127.0.0.1:${portNumber}`)
      .describe(
        "Where the services and Mailpit's page are published. Several processes of a service need a range of ports.",
      ),
  }
}

function publishedBalanced(name: string, portNumber: string) {
  return {
    [`PUBLISH_BALANCED_${name}`]: text()
      .prefault(`127.0.0.1:${portNumber}`)
      .describe('Profile replicas: where the balancer publishes the services.'),
  }
}
