import { Button, Loader, PasswordInput, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { request } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { SignedOutPage } from '../../components/signed-out-page.tsx'
import { texts, useText } from '../../text.ts'
import type { Invitation, Session } from '../../types.ts'
import { words as userWords } from '../users/text.ts'

const words = texts({
  en: {
    first: 'Create the admin account',
    join: 'Welcome',
    reset: 'Choose a new password',
    lead: (role: string, merchant: string | null) => `You are joining ${merchant ?? 'the operator'} as ${role}.`,
    email: 'E-mail',
    name: 'Name',
    password: 'Password',
    rule: 'At least 12 characters. A sentence works well and is easy to remember.',
    code: 'Code from your authenticator app',
    codeHint: 'No longer have it? Ask an admin for a link that removes the second factor.',
    done: 'Create my account',
    doneReset: 'Set my password',
  },
  pt: {
    first: 'Crie a conta do administrador',
    join: 'Boas-vindas',
    reset: 'Escolha uma nova senha',
    lead: (role: string, merchant: string | null) =>
      `Você vai acessar ${merchant ?? 'o painel do operador'} com o perfil ${role}.`,
    email: 'E-mail',
    name: 'Nome',
    password: 'Senha',
    rule: 'No mínimo 12 caracteres. Uma frase funciona bem e é fácil de lembrar.',
    code: 'Código do seu aplicativo autenticador',
    codeHint: 'Não tem mais? Peça a um administrador um link que remova o segundo fator.',
    done: 'Criar minha conta',
    doneReset: 'Definir minha senha',
  },
})

/** The page that the link of an invitation, of a password reset or of the first admin account opens. */
export default function Welcome({ token, onSignedIn }: { token: string; onSignedIn: (session: Session) => void }) {
  const t = useText(words)
  const { roles } = useText(userWords)
  const [, navigate] = useLocation()
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: async () => await request<Invitation>('GET', `/invitation/${encodeURIComponent(token)}`),
  })
  const accept = useMutationForm({
    initialValues: { email: '', name: '', password: '', code: '' },
    send: async (values) => {
      const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
      return await request<Session>('POST', `/invitation/${encodeURIComponent(token)}`, filled)
    },
    onSuccess: (session) => {
      onSignedIn(session)
      navigate('/', { replace: true })
    },
  })
  if (invitation.isPending) return <SignedOutPage title={t.join}>{<Loader type="dots" />}</SignedOutPage>
  if (invitation.isLoadingError)
    return <SignedOutPage title={t.join}>{<ErrorNotice error={invitation.error} />}</SignedOutPage>
  const { email, role, merchantName, isReset, needsCode } = invitation.data
  const field = (name: keyof typeof accept.values) => ({ ...accept.input(name), label: t[name], required: true })
  return (
    <SignedOutPage
      title={isReset ? t.reset : email === null ? t.first : t.join}
      lead={isReset || email === null ? email : t.lead(roles[role] ?? role, merchantName)}
    >
      <ActionForm
        action={accept}
        buttons={
          <Button type="submit" loading={accept.isPending} fullWidth>
            {isReset ? t.doneReset : t.done}
          </Button>
        }
      >
        {email === null ? (
          <TextInput {...field('email')} type="email" autoComplete="username" />
        ) : (
          <TextInput label={t.email} value={email} readOnly autoComplete="username" />
        )}
        {!isReset && <TextInput {...field('name')} autoComplete="name" />}
        <PasswordInput {...field('password')} description={t.rule} autoComplete="new-password" />
        {needsCode && (
          <TextInput
            {...field('code')}
            description={t.codeHint}
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={6}
          />
        )}
      </ActionForm>
    </SignedOutPage>
  )
}
