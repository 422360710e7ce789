import { Center, Loader, MantineProvider } from '@mantine/core'
import { MutationCache, QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import { ApiError, fieldErrorsOf, keepCsrfToken, onSessionEnded, request } from './api.ts'
import { ErrorBoundary } from './components/error-boundary.tsx'
import { ErrorNotice } from './components/error-notice.tsx'
import { confirmLeaving } from './components/leave-warning.tsx'
import { forgetPersonalFilters } from './filters.ts'
import { followChanges } from './live.ts'
import { createRefresher, isPaused } from './live-refresh.ts'
import { Notifications } from './notifications.ts'
import { forgetRecents } from './recent.ts'
import { NotFound } from './screens/not-found.tsx'
import { screens } from './screens.ts'
import { UserContext, useClient, useUser } from './session.tsx'
import { Shell } from './shell.tsx'
import { findLanguage, type Language, LanguageContext, rememberLanguage } from './text.ts'
import { theme, variables } from './theme.ts'
import type { Session } from './types.ts'

const SignIn = lazy(async () => await import('./screens/sign-in/sign-in.tsx'))
const Account = lazy(async () => await import('./screens/account/account.tsx'))
const Welcome = lazy(async () => await import('./screens/welcome/welcome.tsx'))

const queries: QueryClient = new QueryClient({
  mutationCache: new MutationCache({
    onError: (error) => {
      // Refused because the record has changed since it was shown.
      if (fieldErrorsOf(error).some(({ code }) => code === 'changed')) void queries.invalidateQueries()
    },
  }),
  defaultOptions: {
    // An `ApiError` is final: most often it is a refusal. Other errors, such as those of the SDK, are retried once.
    queries: {
      retry: (count, error) => !(error instanceof ApiError) && count < 1,
      staleTime: 5_000,
      refetchOnWindowFocus: ({ queryKey: [root] }) => !isPaused(root),
    },
  },
})

export function App() {
  const [language, setLanguage] = useState(findLanguage)
  useEffect(() => {
    document.documentElement.lang = language === 'pt' ? 'pt-BR' : 'en'
  }, [language])
  const chosen = useMemo(
    () => ({
      language,
      choose: (next: Language) => {
        rememberLanguage(next)
        setLanguage(next)
      },
    }),
    [language],
  )
  return (
    <LanguageContext value={chosen}>
      <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
        <QueryClientProvider client={queries}>
          <Router base="/dashboard" aroundNav={confirmLeaving}>
            <ErrorBoundary>
              <Suspense fallback={<LoadingScreen />}>
                <Switch>
                  <Route path="/welcome/:token">
                    {({ token }) => <Welcome token={token} onSignedIn={replaceSession} />}
                  </Route>
                  <Route>
                    <SignedIn />
                  </Route>
                </Switch>
              </Suspense>
            </ErrorBoundary>
          </Router>
        </QueryClientProvider>
      </MantineProvider>
    </LanguageContext>
  )
}

const sessionKey = ['session']

function replaceSession(session: Session | null): void {
  // The next user must not see data of the previous one.
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })
  forgetPersonalFilters()
  if (session === null) forgetRecents()
  queries.setQueryData(sessionKey, session)
}

/** Stores the session, and returns whether its user is the same as before. */
function takeSession(session: Session): boolean {
  const isSameUser = queries.getQueryData<Session | null>(sessionKey)?.user.id === session.user.id
  keepCsrfToken(session.csrfToken)
  if (isSameUser) queries.setQueryData(sessionKey, session)
  else replaceSession(session)
  return isSameUser
}

function SignedIn() {
  const [location] = useLocation()
  const session = useQuery({
    queryKey: sessionKey,
    queryFn: async () => {
      try {
        return await request<Session>('GET', '/session')
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null
        throw error
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { hasEnded, enter, leave } = useEndedSession()
  useChanges(!session.data || hasEnded || session.data.user.needsSecondFactor ? null : session.data.csrfToken)
  if (session.isPending) return <LoadingScreen />
  if (session.isLoadingError) return <ErrorNotice error={session.error} onRetry={() => void session.refetch()} />
  if (session.data === null) return <SignIn hasEnded={hasEnded} onSignedIn={enter} />
  keepCsrfToken(session.data.csrfToken)
  return (
    <UserContext value={session.data.user}>
      {hasEnded && <SignIn hasEnded onSignedIn={enter} />}
      {/* Hidden with all that was typed, until the same user has signed in again. Another user begins with nothing. */}
      <div key={session.data.user.id} hidden={hasEnded}>
        <Notifications />
        <Shell onSignedOut={leave}>
          <ErrorBoundary resetKey={location}>
            <Suspense fallback={<LoadingScreen />}>
              <Screens />
            </Suspense>
          </ErrorBoundary>
        </Shell>
      </div>
    </UserContext>
  )
}

/** How long the screen of an ended session is kept, in case the same user signs in again. */
const keptMs = 15 * 60_000

/**
 * What happens when a session ends without a sign-out. The requests that were refused wait: they are sent again when
 * the same user has signed in again, and fail when somebody else has, after a sign-out, or after `keptMs`.
 */
function useEndedSession() {
  const [hasEnded, setEnded] = useState(false)
  const waiting = useRef<((isSameUser: boolean) => void)[]>([])
  const settle = useCallback((isSameUser: boolean) => {
    for (const done of waiting.current.splice(0)) done(isSameUser)
  }, [])
  useEffect(
    () =>
      onSessionEnded(async () => {
        // Only a user who was signed in sees the message that the session ended.
        if (!queries.getQueryData(sessionKey)) return false
        setEnded(true)
        return await new Promise<boolean>((done) => waiting.current.push(done))
      }),
    [],
  )
  useEffect(() => {
    document.body.toggleAttribute('data-ended', hasEnded)
    if (!hasEnded) return
    const timer = setTimeout(() => {
      replaceSession(null)
      settle(false)
    }, keptMs)
    return () => clearTimeout(timer)
  }, [hasEnded, settle])
  return {
    hasEnded,
    enter: (next: Session) => {
      const isSameUser = takeSession(next)
      setEnded(false)
      settle(isSameUser)
    },
    leave: () => {
      replaceSession(null)
      setEnded(false)
      settle(false)
    },
  }
}

const refresher = createRefresher(queries)

/**
 * Follows what changes at the service. `session` identifies the session, and is null while nobody is signed in, and
 * until a user has set up the second factor that they need.
 */
function useChanges(session: string | null): void {
  useEffect(() => {
    if (session === null) return
    let isStopped = false
    // If the session has ended, this request is refused like any other, and `useEndedSession` takes over.
    const readSession = async () => {
      const answer = await request<Session>('GET', '/session').catch(() => null)
      if (answer !== null && !isStopped) takeSession(answer)
    }
    const stop = followChanges({
      onChanged: (message) => refresher.refresh(message),
      onConnected: () => {
        void readSession()
        refresher.refreshAll()
      },
      onSessionChanged: () => void readSession(),
    })
    return () => {
      isStopped = true
      stop()
    }
  }, [session])
}

function Screens() {
  const { permissions, merchant, needsSecondFactor } = useUser()
  const [location] = useLocation()
  const client = useClient()
  if (needsSecondFactor) return <Account />
  const shown = screens.filter(
    ({ permission, isForOperator }) =>
      (permission === null || permissions.includes(permission)) && !(isForOperator && merchant !== null),
  )
  return (
    <Switch>
      {shown.flatMap(({ paths, Screen }) =>
        paths.map((path) => (
          <Route key={path} path={path}>
            {/* The key mounts a new screen for another merchant or record: open dialogs and amounts do not stay. */}
            <Screen key={`${location} ${client}`} />
          </Route>
        )),
      )}
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}

function LoadingScreen() {
  return (
    <Center h="60vh">
      <Loader type="dots" aria-label="…" />
    </Center>
  )
}
