// Runs Kafka's command line tools one after the other in one JVM, each as if it had a process of its own.
//
//     java -cp 'LIBS/*' Tools.java
//
// Each line of standard input is a command, tabs between: its standard input with \n and \t for the ends of lines and tabs, the class,
// the arguments. The answer to each: a line with the exit status and the sizes in bytes of what the command wrote to
// standard output and to standard error, then both.

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

public class Tools {
    static class Ended extends Error {
    }

    // Scala remembers the first System.out that it sees, so that one stays and only its end is changed.
    static class Switch extends OutputStream {
        volatile ByteArrayOutputStream to = new ByteArrayOutputStream();

        @Override
        public void write(int b) {
            to.write(b);
        }

        @Override
        public void write(byte[] b, int from, int size) {
            to.write(b, from, size);
        }
    }

    static final Switch OUT = new Switch();
    static final Switch ERR = new Switch();
    static volatile Integer status;
    static volatile byte[][] said;

    static synchronized void end(int code) {
        if (status == null) {
            System.out.flush();
            System.err.flush();
            said = new byte[][] {OUT.to.toByteArray(), ERR.to.toByteArray()};
            status = code;
        }
    }

    public static void main(String[] ignored) throws Exception {
        PrintStream answers = System.out;
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
        Exit.Procedure ends = (code, message) -> {
            end(code);
            throw new Ended();
        };
        Exit.setExitProcedure(ends);
        Exit.setHaltProcedure(ends);
        // Some tools end by themselves after a mistake in their flags: that is the last command of this JVM.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            end(1);
            answer(answers);
        }));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t", -1);
            OUT.to = new ByteArrayOutputStream();
            ERR.to = new ByteArrayOutputStream();
            status = null;
            System.setIn(new ByteArrayInputStream(words[0].replace("\\n", "\n").replace("\\t", "\t").getBytes(StandardCharsets.UTF_8)));
            run(words[1], Arrays.copyOfRange(words, 2, words.length));
            answer(answers);
        }
        Runtime.getRuntime().halt(0);
    }

    static void answer(PrintStream answers) {
        answers.printf("%d %d %d%n", status, said[0].length, said[1].length);
        answers.write(said[0], 0, said[0].length);
        answers.write(said[1], 0, said[1].length);
        answers.flush();
    }

    static void run(String name, String[] arguments) {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
            end(0);
        } catch (InvocationTargetException thrown) {
            if (status == null) {
                System.err.print("Exception in thread \"main\" ");
                thrown.getCause().printStackTrace();
            }
            end(1);
        } catch (Exception broken) {
            broken.printStackTrace();
            end(99);
        }
    }
}
