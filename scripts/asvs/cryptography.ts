import { chapter } from './requirement.ts'

const INVENTORY = { documented: 'SECURITY.md#keys-and-algorithms' }
const NO_KEYS = { notApplicable: 'the service has no keys, and encrypts nothing' }
const NO_PASSWORDS = { notApplicable: 'the service has no passwords' }
const PROXY = { documented: 'SECURITY.md#what-you-must-do', note: 'TLS is the proxy’s' }

const PLAIN_CONNECTIONS =
  'the service listens without TLS behind the proxy; connections to PostgreSQL, Redis and collectors are encrypted as their settings say, and mails where the server offers it, or always if the setting `…_SMTP_REQUIRE_TLS` says so'
const PLAIN_KEYS = {
  deviation:
    'the address of auth’s keys may be `http://`; if it names another machine, the start and `doctor` warn that it should be `https://`',
}

/** Chapter V11: keys, algorithms and random numbers. */
export const cryptography = chapter('V11 Cryptography', [
  [
    '11.1.1',
    2,
    'The life of keys is documented',
    {
      auth: { documented: 'docs/runbooks/key-rotation.md#key-rotation' },
      payments: { documented: 'docs/runbooks/key-rotation.md#key-rotation' },
      inventory: NO_KEYS,
    },
  ],
  ['11.1.2', 2, 'Keys and algorithms are listed, with what they protect', INVENTORY],
  ['11.2.1', 2, 'Cryptography comes from established implementations', INVENTORY],
  ['11.2.2', 2, 'Algorithms and keys can be replaced', { inventory: NO_KEYS }],
  [
    '11.2.3',
    2,
    'Keys and algorithms have at least 128 bits of security',
    {
      auth: {
        deviation:
          'RSA keys of 2,048 bits (112 bits of security) may sign, since existing installations have them; `npm start` and `auth keys add` make ES256 keys',
      },
      inventory: NO_KEYS,
    },
  ],
  ['11.3.1', 1, 'No insecure modes or paddings are used', { inventory: NO_KEYS }],
  ['11.3.2', 1, 'Only approved ciphers are used, such as AES-GCM', { inventory: NO_KEYS }],
  ['11.3.3', 2, 'Encrypted data cannot be altered unnoticed', { inventory: NO_KEYS }],
  [
    '11.4.1',
    1,
    'Only approved hash functions are used',
    {
      auth: {
        deviation:
          'SHA-1 is used where a protocol requires it: time-based codes (RFC 6238), signatures for twitter (OAuth 1.0a), the lookup of breached passwords, and imported PBKDF2 hashes until their user’s next sign-in',
      },
      payments: INVENTORY,
      inventory: INVENTORY,
    },
  ],
  ['11.4.2', 2, 'Passwords are stored by a slow hash', { payments: NO_PASSWORDS, inventory: NO_PASSWORDS }],
  ['11.4.3', 2, 'Hashes for integrity are collision-resistant', INVENTORY],
  ['11.4.4', 2, 'Keys from passwords are stretched', { notApplicable: 'no key is derived from a password' }],
  [
    '11.5.1',
    2,
    'Random values come from a secure generator and have 128 bits',
    {
      auth: {
        deviation:
          'all come from the system’s generator; recovery codes have 81 bits, authorization codes 122; codes of mails and SMS have as many digits as users can type, with limits on guesses',
      },
      payments: {
        deviation: 'API keys are UUIDs, as published clients expect: 122 bits of the system’s generator',
      },
      inventory: { notApplicable: 'the service makes no secrets' },
    },
  ],
  [
    '11.6.1',
    2,
    'Keys and signatures use only approved algorithms',
    {
      payments: { notApplicable: 'the service makes no key pairs; what it verifies is in V9' },
      inventory: { notApplicable: 'the service makes no key pairs; what it verifies is in V9' },
    },
  ],
])

/** Chapter V12: TLS. */
export const communication = chapter('V12 Secure communication', [
  ['12.1.1', 1, 'Only current versions of TLS are enabled', PROXY],
  ['12.1.2', 2, 'Only recommended cipher suites are enabled', PROXY],
  ['12.1.3', 2, 'Client certificates are verified', { notApplicable: 'no service asks for client certificates' }],
  [
    '12.2.1',
    1,
    'Clients connect only by TLS',
    {
      auth: PROXY,
      inventory: PROXY,
      payments: {
        ...PROXY,
        note: 'the proxy has TLS; with `PAYMENTS_REQUIRE_TLS` live card data without TLS is refused',
      },
    },
  ],
  ['12.2.2', 1, 'Certificates are publicly trusted', PROXY],
  [
    '12.3.1',
    2,
    'All connections are encrypted',
    {
      auth: {
        deviation: PLAIN_CONNECTIONS,
        strict: 'mails are sent only by TLS, unless the mail server is on the same machine',
        isPartial: true,
      },
      payments: { deviation: PLAIN_CONNECTIONS },
      inventory: {
        deviation:
          'the service listens without TLS behind the proxy; connections to PostgreSQL, Redis and collectors are encrypted as their settings say, and not otherwise',
      },
    },
  ],
  [
    '12.3.2',
    2,
    'Certificates of others are validated',
    { documented: 'SECURITY.md#connections', note: 'Node.js validates, unless a connection string says otherwise' },
  ],
  [
    '12.3.3',
    2,
    'The services speak TLS to each other',
    {
      auth: { notApplicable: 'it calls no other service of these' },
      payments: PLAIN_KEYS,
      inventory: PLAIN_KEYS,
    },
  ],
  ['12.3.4', 2, 'Internal certificates are trusted by name', { documented: 'SECURITY.md#connections' }],
])
