// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"net"
	"sync"
	"testing"
	"time"
)

// link passes TCP connections on to a server. What the server sends arrives
// after a delay, and nothing does while the link is held.
type link struct {
	listener net.Listener
	server   string
	delay    time.Duration
	held     sync.RWMutex // locked: held

	mu    sync.Mutex
	ends  []net.Conn
	ended bool
}

// newLink listens on a port of its own until the test ends.
func newLink(t testing.TB, server string, delay time.Duration) *link {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, server: server, delay: delay}
	go l.accept()
	t.Cleanup(l.end)
	return l
}

func (l *link) port() int { return l.listener.Addr().(*net.TCPAddr).Port }

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp4", l.server)
		if err != nil || !l.keep(client, server) {
			client.Close()
			continue
		}
		go l.pass(server, client, 0)
		go l.pass(client, server, l.delay)
	}
}

// keep notes a connection's ends, unless the link has ended.
func (l *link) keep(client, server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		server.Close()
		return false
	}
	l.ends = append(l.ends, client, server)
	return true
}

// piece is what was read at once, and when it is to arrive.
type piece struct {
	bytes []byte
	due   time.Time
}

// pass copies one direction of a connection, each piece late by the delay, however many follow it.
func (l *link) pass(to, from net.Conn, delay time.Duration) {
	pieces := make(chan piece, 1024)
	go func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			l.held.RLock()
			_, err := to.Write(p.bytes)
			l.held.RUnlock()
			if err != nil {
				from.Close()
			}
		}
	}()
	defer close(pieces)
	for {
		buffer := make([]byte, 64<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			pieces <- piece{buffer[:n], time.Now().Add(delay)}
		}
		if err != nil {
			return
		}
	}
}

func (l *link) end() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, end := range l.ends {
		end.Close()
	}
}
