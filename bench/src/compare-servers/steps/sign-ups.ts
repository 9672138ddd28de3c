import { bodies, getUser, PASSWORD, type Subject, sends, signIn, signUp } from '../step.ts'

/** Sign-ups by email without confirmation. */
export const signUps: Subject = {
  name: 'sign-ups',
  steps: [
    signUp('ada', { data: { name: 'Ada', nested: { list: [1, 2] } } }),
    getUser('ada'),
    { ...signUp('ada'), name: 'the same address again' },
    { name: 'in capitals', send: 'POST /signup', body: { email: 'ADA@Example.com', password: PASSWORD } },
    { name: 'another password', send: 'POST /signup', body: { email: 'ada@example.com', password: 'another one' } },
    signIn('ada'),
    {
      name: 'capitals, new',
      send: 'POST /signup',
      body: { email: 'Bert@Example.com', password: PASSWORD },
      keep: 'bert',
    },
    signIn('bert'),
    {
      name: 'reserved members of data',
      send: 'POST /signup',
      body: {
        email: 'reserved@example.com',
        password: PASSWORD,
        data: {
          sub: 'x',
          email: 'x@example.com',
          email_verified: true,
          phone_verified: true,
          phone: '1',
          role: 'admin',
        },
      },
      keep: 'reserved',
    },
    getUser('reserved'),
    ...bodies('POST /signup', {
      'no password': { email: 'new1@example.com' },
      'an empty password': { email: 'new2@example.com', password: '' },
      'a short password': { email: 'new3@example.com', password: '12345' },
      'a password of six': { email: 'new4@example.com', password: '123456' },
      'a password of 72': { email: 'new5@example.com', password: 'a'.repeat(72) },
      'a password of 73': { email: 'new6@example.com', password: 'a'.repeat(73) },
      'no address': { password: PASSWORD },
      'an empty address': { email: '', password: PASSWORD },
      'an address without @': { email: 'ada', password: PASSWORD },
      'an address without a host': { email: 'ada@', password: PASSWORD },
      'an address with a space': { email: 'a da@example.com', password: PASSWORD },
      'an address with spaces around': { email: ' spaced@example.com ', password: PASSWORD },
      'an address with a plus': { email: 'plus+tag@example.com', password: PASSWORD },
      'an address of a host without a dot': { email: 'ada@localhost', password: PASSWORD },
      'an address with letters outside ASCII': { email: 'ädä@example.com', password: PASSWORD },
      'a long address': { email: `${'a'.repeat(64)}@example.com`, password: PASSWORD },
      'an address of 300 characters': { email: `${'a'.repeat(288)}@example.com`, password: PASSWORD },
      'an address with a name': { email: 'Ada <ada2@example.com>', password: PASSWORD },
      'email and phone': { email: 'both@example.com', phone: '+4512345670', password: PASSWORD },
      'data that is a text': { email: 'new7@example.com', password: PASSWORD, data: 'text' },
      'data that is null': { email: 'new8@example.com', password: PASSWORD, data: null },
      'data that is a list': { email: 'new9@example.com', password: PASSWORD, data: [] },
      'data that is empty': { email: 'new10@example.com', password: PASSWORD, data: {} },
      'members that nobody knows': {
        email: 'new11@example.com',
        password: PASSWORD,
        role: 'admin',
        aud: 'x',
        extra: 1,
      },
      'an email that is a number': { email: 5, password: PASSWORD },
      'a password that is a number': { email: 'new12@example.com', password: 123456 },
      'an email that is null': { email: null, password: PASSWORD },
      'a method of PKCE that is none': { email: 'new13@example.com', password: PASSWORD, code_challenge_method: 'x' },
      'a challenge alone': { email: 'new14@example.com', password: PASSWORD, code_challenge: 'a'.repeat(43) },
      'a method alone': { email: 'new15@example.com', password: PASSWORD, code_challenge_method: 's256' },
      PKCE: {
        email: 'new16@example.com',
        password: PASSWORD,
        code_challenge: '{challenge verifier}',
        code_challenge_method: 's256',
      },
      'a captcha token': {
        email: 'new17@example.com',
        password: PASSWORD,
        gotrue_meta_security: { captcha_token: 'x' },
      },
      'a channel': { email: 'new18@example.com', password: PASSWORD, channel: 'whatsapp' },
    }),
  ],
}

export const largeMetadata: Subject = {
  name: 'large metadata',
  steps: [
    signUp('large', { data: { text: 'x'.repeat(70_000) } }),
    { name: 'PUT /user with 100 KB', send: 'PUT /user', as: 'large', body: { data: { more: 'y'.repeat(100_000) } } },
    { name: 'PUT /user with a null', send: 'PUT /user', as: 'large', body: { data: { text: null, more: null } } },
    getUser('large'),
    {
      name: 'above a mebibyte',
      send: 'POST /signup',
      body: { email: 'l@example.com', password: 'x'.repeat(1_100_000) },
    },
  ],
}

/** Sign-ups by phone without confirmation. */
export const phoneSignUps: Subject = {
  name: 'sign-ups by phone',
  steps: [
    {
      name: 'a new phone',
      send: 'POST /signup',
      body: { phone: '+4520000001', password: PASSWORD, data: { name: 'Pia' } },
      keep: 'pia',
    },
    getUser('pia'),
    { name: 'the same phone again', send: 'POST /signup', body: { phone: '+4520000001', password: PASSWORD } },
    { name: 'the same without +', send: 'POST /signup', body: { phone: '4520000001', password: PASSWORD } },
    ...bodies('POST /signup', {
      'a phone with spaces': { phone: '+45 20 00 00 02', password: PASSWORD },
      'a phone with letters': { phone: '+45abc', password: PASSWORD },
      'a short phone': { phone: '+1', password: PASSWORD },
      'a phone with 0 first': { phone: '020000001', password: PASSWORD },
      'a phone of 16 digits': { phone: '+1234567890123456', password: PASSWORD },
      'a phone of 15 digits': { phone: '+123456789012345', password: PASSWORD },
      'an empty phone': { phone: '', password: PASSWORD },
      'a phone that is a number': { phone: 4520000003, password: PASSWORD },
      'no password': { phone: '+4520000004' },
      'a short password': { phone: '+4520000005', password: '123' },
      'the channel sms': { phone: '+4520000006', password: PASSWORD, channel: 'sms' },
      'the channel whatsapp': { phone: '+4520000007', password: PASSWORD, channel: 'whatsapp' },
      'a channel that is none': { phone: '+4520000008', password: PASSWORD, channel: 'pigeon' },
    }),
    ...bodies('POST /token?grant_type=password', {
      'by phone': { phone: '+4520000001', password: PASSWORD },
      'by phone without +': { phone: '4520000001', password: PASSWORD },
      'by phone, wrong password': { phone: '+4520000001', password: 'wrong password' },
      'an unknown phone': { phone: '+4529999999', password: PASSWORD },
      'a phone that is none': { phone: 'abc', password: PASSWORD },
      'email and phone': { phone: '+4520000001', email: 'pia@example.com', password: PASSWORD },
    }),
    { name: 'PUT /user email', send: 'PUT /user', as: 'pia', body: { email: 'pia@example.com' } },
    getUser('pia', 'with email'),
    { name: 'PUT /user phone', send: 'PUT /user', as: 'pia', body: { phone: '+4520000011' } },
    { name: 'PUT /user phone of another', send: 'PUT /user', as: 'pia', body: { phone: '+4520000006' } },
    { name: 'PUT /user phone that is none', send: 'PUT /user', as: 'pia', body: { phone: 'abc' } },
    getUser('pia', 'with another phone'),
    { name: 'POST /otp', send: 'POST /otp', body: { phone: '+4520000011' } },
    { name: 'POST /otp, a new phone', send: 'POST /otp', body: { phone: '+4520000021' } },
  ],
}

const signUpAnonymously = { name: 'sign up', send: 'POST /signup', keep: 'nemo' }

/** Anonymous users without confirmation. */
export const anonymous: Subject = {
  name: 'anonymous users',
  steps: [
    { ...signUpAnonymously, body: {} },
    getUser('nemo'),
    {
      name: 'refresh',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{nemo.refresh_token}' },
      keep: 'nemo',
    },
    ...bodies('POST /signup', {
      'with data': { data: { theme: 'dark' } },
      'with a password': { password: PASSWORD },
      null: null,
      'with a channel': { channel: 'sms' },
    }),
    { name: 'enrol a factor', send: 'POST /factors', as: 'nemo', body: { factor_type: 'totp', friendly_name: 'a' } },
    { name: 'reauthenticate', send: 'GET /reauthenticate', as: 'nemo' },
    {
      name: 'link',
      send: 'GET /user/identities/authorize?provider=keycloak&skip_http_redirect=true',
      as: 'nemo',
      keep: 'linking',
    },
    { name: 'a password', send: 'PUT /user', as: 'nemo', body: { password: PASSWORD } },
    { name: 'data', send: 'PUT /user', as: 'nemo', body: { data: { theme: 'light' } } },
    signUp('taken'),
    { name: 'a taken address', send: 'PUT /user', as: 'nemo', body: { email: 'taken@example.com' } },
    { name: 'an address', send: 'PUT /user', as: 'nemo', body: { email: 'nemo@example.com' } },
    getUser('nemo', 'with an address'),
    {
      name: 'refresh',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{nemo.refresh_token}' },
      keep: 'nemo',
    },
    { name: 'a password with an address', send: 'PUT /user', as: 'nemo', body: { password: PASSWORD } },
    {
      name: 'sign in',
      send: 'POST /token?grant_type=password',
      body: { email: 'nemo@example.com', password: PASSWORD },
    },
    { ...signUpAnonymously, body: {}, keep: 'nemo2' },
    { name: 'a phone', send: 'PUT /user', as: 'nemo2', body: { phone: '+4521000001' } },
    getUser('nemo2', 'with a phone'),
    { ...signUpAnonymously, body: {}, keep: 'nemo3' },
    { name: 'sign out', send: 'POST /logout', as: 'nemo3' },
  ],
}

/** Sign-ins by password, and the grants of POST /token that fail. */
export const signIns: Subject = {
  name: 'sign-ins',
  steps: [
    signUp('ada'),
    signIn('ada'),
    ...bodies('POST /token?grant_type=password', {
      capitals: { email: 'ADA@EXAMPLE.COM', password: PASSWORD },
      'spaces around': { email: ' ada@example.com ', password: PASSWORD },
      'a wrong password': { email: 'ada@example.com', password: 'wrong' },
      'an empty password': { email: 'ada@example.com', password: '' },
      'no password': { email: 'ada@example.com' },
      'an unknown address': { email: 'nobody@example.com', password: PASSWORD },
      'an address that is none': { email: 'ada', password: PASSWORD },
      'an empty address': { email: '', password: PASSWORD },
      'no address': { password: PASSWORD },
      nothing: {},
      null: null,
      'a password of 80': { email: 'ada@example.com', password: 'a'.repeat(80) },
      'an email that is a number': { email: 1, password: PASSWORD },
      'the grant in the body too': { email: 'ada@example.com', password: PASSWORD, grant_type: 'password' },
      'with data': { email: 'ada@example.com', password: PASSWORD, data: { a: 1 } },
    }),
    ...bodies('POST /token', {
      'the grant in the body alone': { email: 'ada@example.com', password: PASSWORD, grant_type: 'password' },
      'no grant': { email: 'ada@example.com', password: PASSWORD },
    }),
    ...sends([
      'POST /token',
      'POST /token?grant_type=password',
      'POST /token?grant_type=nothing',
      'POST /token?grant_type=',
      'POST /token?grant_type=refresh_token',
      'POST /token?grant_type=pkce',
      'POST /token?grant_type=id_token',
      'POST /token?grant_type=web3',
      'POST /token?grant_type=authorization_code',
      'POST /token?grant_type=client_credentials',
      'GET /token?grant_type=password',
    ]),
    ...bodies('POST /token?grant_type=nothing', { 'an unknown grant': {} }),
    ...bodies('POST /token?grant_type=web3', {
      nothing: {},
      Solana: { chain: 'solana', message: 'm', signature: 's' },
      'another chain': { chain: 'x', message: 'm', signature: 's' },
    }),
    {
      name: 'a form',
      send: 'POST /token?grant_type=password',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `email=ada%40example.com&password=${encodeURIComponent(PASSWORD)}`,
    },
    { name: 'an audience of another', ...tokenWith({ 'x-jwt-aud': 'other' }) },
    { name: 'the own audience', ...tokenWith({ 'x-jwt-aud': 'authenticated' }) },
    { name: 'an apikey', ...tokenWith({ apikey: 'whatever' }) },
    { name: 'a bearer that is none', ...tokenWith({ authorization: 'Bearer nonsense' }) },
  ],
}

function tokenWith(headers: Readonly<Record<string, string>>) {
  return { send: 'POST /token?grant_type=password', headers, body: { email: 'ada@example.com', password: PASSWORD } }
}

export const weakPasswords: Subject = {
  name: 'weak passwords',
  steps: [
    {
      name: 'an admin makes a user with a weak password',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'weak@example.com', password: 'abc', email_confirm: true },
    },
    {
      name: 'sign in',
      send: 'POST /token?grant_type=password',
      body: { email: 'weak@example.com', password: 'abc' },
      keep: 'weak',
    },
    ...bodies(
      'PUT /user',
      {
        'a short password': { password: '12345' },
        'an empty password': { password: '' },
        'the same password': { password: 'abc' },
        'a password of 73': { password: 'a'.repeat(73) },
        null: { password: null },
        'a number': { password: 123456 },
      },
      { as: 'weak' },
    ),
    { name: 'a good password', send: 'PUT /user', as: 'weak', body: { password: PASSWORD } },
    { name: 'the same password', send: 'PUT /user', as: 'weak', body: { password: PASSWORD } },
    signIn('weak'),
  ],
}
