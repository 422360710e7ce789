import { texts } from '../../text.ts'
import type { SignInFault } from '../../types.ts'

/** Why a sign-in at the provider failed; `failed` is for anything else. */
type Faults = Record<SignInFault | 'failed', string> & Record<string, string>

export const words = texts({
  en: {
    title: 'Sign in',
    email: 'E-mail',
    password: 'Password',
    signIn: 'Sign in',
    code: 'Code from your authenticator app',
    ended: 'Your session ended. Sign in again to continue where you left off.',
    help: 'Forgot your password? An admin can send you a link to set a new one.',
    provider: (name: string) => `Continue with ${name}`,
    or: 'or with a password',
    providerHelp: 'Your account and your role come from the identity provider. For access, ask whoever manages them.',
    faults: {
      expired: 'The sign-in took too long, or another one was started in another tab. Try again.',
      cancelled: 'The sign-in was canceled. Nothing has changed.',
      provider_unavailable:
        'The identity provider did not answer as expected. Try again in a minute. If it goes on, ask the operator: the log says why.',
      role_missing: 'Your account at the identity provider has no role here. Ask whoever manages it to give you one.',
      email_not_verified:
        'The identity provider has not verified your e-mail address. Verify it there, then try again.',
      account_conflict: 'Another account here has your e-mail address. Ask an admin to sort it out.',
      account_disabled: 'Your account here is disabled. Ask an admin.',
      second_factor_missing:
        'Your role requires a second factor. Set one up at the identity provider, and use it to sign in.',
      failed: 'The sign-in failed. Try again.',
    } as Faults,
  },
  pt: {
    title: 'Entrar',
    email: 'E-mail',
    password: 'Senha',
    signIn: 'Entrar',
    code: 'Código do seu aplicativo autenticador',
    ended: 'Sua sessão expirou. Entre de novo para continuar de onde parou.',
    help: 'Esqueceu a senha? Um administrador pode enviar um link para criar uma nova.',
    provider: (name: string) => `Continuar com ${name}`,
    or: 'ou com uma senha',
    providerHelp: 'Sua conta e seu perfil vêm do provedor de identidade. Para ter acesso, fale com quem os administra.',
    faults: {
      expired: 'O login demorou demais ou foi iniciado também em outra aba. Tente de novo.',
      cancelled: 'O login foi cancelado. Nada mudou.',
      provider_unavailable:
        'O provedor de identidade não respondeu como esperado. Tente de novo em um minuto. Se continuar, fale com o operador: o log mostra o motivo.',
      role_missing: 'Sua conta no provedor de identidade não tem um perfil aqui. Peça um a quem a administra.',
      email_not_verified: 'O provedor de identidade não verificou o seu e-mail. Verifique-o lá e tente de novo.',
      account_conflict: 'Outra conta aqui usa o seu e-mail. Peça a um administrador para resolver.',
      account_disabled: 'Sua conta aqui está desativada. Fale com um administrador.',
      second_factor_missing:
        'Seu perfil exige um segundo fator. Configure um no provedor de identidade e use-o para entrar.',
      failed: 'Não foi possível entrar. Tente de novo.',
    } as Faults,
  },
})
